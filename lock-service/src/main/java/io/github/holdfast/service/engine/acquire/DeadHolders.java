package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.service.engine.acquire.AttemptResult.DeadHoldersRemoved;
import io.github.holdfast.service.engine.acquire.AttemptResult.HolderNodeExpired;
import io.github.holdfast.service.engine.acquire.AttemptResult.Obstacle;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Removes the rows of dead holders of shares for one acquisition, which they are in the way of. Not thread-safe. */
public final class DeadHolders {

    /** The time limit for the removal of a dead holder, which waits for a transaction that protects the row. */
    private static final Duration REMOVAL = Duration.ofSeconds(1);

    private final LockAccess access;
    private final TakeoverPolicy policy;
    private final Duration afterProtected;

    /** The local time until which dead holders are left alone. */
    private long leftAloneUntil;

    /**
     * A clean-up for one acquisition.
     *
     * @param afterProtected how long dead holders are left alone after a removal has timed out waiting for a
     *     transaction
     */
    public DeadHolders(HoldContext context, Duration afterProtected) {
        this.afterProtected = afterProtected;
        this.access = context.access();
        this.policy = context.policy();
        this.leftAloneUntil = access.ticker().nanoTime();
    }

    /** How long dead holders are still left alone; zero if they are not. */
    public Duration backoffRemaining() {
        return Duration.ofNanos(Math.max(0, leftAloneUntil - access.ticker().nanoTime()));
    }

    /**
     * Removes those of the holders that are dead. If the node of one is overdue, the node must be ended first.
     *
     * @param sentAt the local time before the holders were read
     * @return what was in the way; empty if none of them is dead, or those that are dead are left alone
     * @throws StoreException if the database failed
     */
    public Optional<Obstacle> clear(List<HolderSnapshot> holders, long sentAt, Deadline deadline) {
        if (!backoffRemaining().isZero()) {
            return Optional.empty();
        }
        for (HolderSnapshot holding : holders) {
            if (policy.state(holding, sentAt) == LockHolder.State.NODE_EXPIRED) {
                return Optional.of(HolderNodeExpired.of(holding.node()));
            }
        }
        List<LockHolder> dead = holders.stream()
                .filter(holding -> policy.state(holding, sentAt) == LockHolder.State.DEAD)
                .map(HolderSnapshot::holder)
                .toList();
        if (dead.isEmpty()) {
            return Optional.empty();
        }
        if (removeSome(dead, deadline)) {
            return Optional.of(new DeadHoldersRemoved());
        }
        leftAloneUntil = access.ticker().nanoTime() + afterProtected.toNanos();
        return Optional.empty();
    }

    /**
     * Removes dead holders. After the deadline, it removes those before the first one whose row is protected.
     *
     * @return whether one was removed, by this service or another
     */
    private boolean removeSome(List<LockHolder> dead, Deadline deadline) {
        boolean isAnyRemoved = false;
        for (LockHolder holder : dead) {
            boolean isRemoved = remove(holder);
            isAnyRemoved |= isRemoved;
            if (!isRemoved && deadline.isOver()) {
                break;
            }
        }
        return isAnyRemoved;
    }

    /** Removes a dead holder. Returns false if its row is protected. */
    private boolean remove(LockHolder dead) {
        try {
            // The result is ignored: the next attempt shows what is left.
            access.store()
                    .inTransaction(REMOVAL, () -> access.store().permits().removeDead(dead, policy.clockTolerance()));
            return true;
        } catch (StoreException failed) {
            if (failed.failure() != Failure.BUSY) {
                throw failed;
            }
            return false;
        }
    }
}
