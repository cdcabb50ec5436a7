package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.acquire.AttemptResult.LostRace;
import io.github.holdfast.service.engine.acquire.AttemptResult.Obstacle;
import io.github.holdfast.service.engine.acquire.AttemptResult.SharedByOthers;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.wait.Waiter;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The shared holders of a lock, as one exclusive acquisition sees them. While it waits for them, it keeps new ones out. Not
 * thread-safe.
 */
public final class SharedHolders {

    /** How long an exclusive waiter keeps new shared holders out. If it dies, they come back after this time. */
    private static final Duration RESERVED = Duration.ofSeconds(4);

    /** The mark is renewed when less than this is left of it. */
    private static final Duration RESERVED_AGAIN = RESERVED.dividedBy(2);

    /** How long a waiter leaves dead holders alone whose rows are protected. Until their end, the lock cannot be granted anyway. */
    private static final Duration AFTER_PROTECTED = Duration.ofSeconds(1);

    private final LockAccess access;
    private final Consumer<String> closeShares;
    private final Duration tolerance;
    private final DeadHolders deadHolders;
    private final String name;
    private boolean hasReserved;

    public SharedHolders(HoldContext context, String name) {
        this.access = context.access();
        this.closeShares = context.closeShares();
        this.tolerance = context.policy().clockTolerance();
        this.deadHolders = new DeadHolders(context, AFTER_PROTECTED);
        this.name = name;
    }

    /**
     * Checks whether the lock has shared holders, and removes those that are dead. Costs one statement if there is no holder.
     *
     * @param seen the lock's row
     * @return why the lock cannot be granted now; empty if it has no shared holder
     * @throws StoreException if the database failed
     */
    public Optional<AttemptResult> findBlockers(LockSnapshot seen, Deadline deadline) {
        long sentAt = access.ticker().nanoTime();
        Optional<List<HolderSnapshot>> rows = store().inTransaction(
                        deadline.forOneStatement(),
                        () -> store().permits().sharing(name, seen.row().version()));
        if (rows.isEmpty()) {
            return Optional.of(new LostRace());
        }
        List<HolderSnapshot> holders = rows.get();
        if (holders.isEmpty()) {
            return Optional.empty();
        }
        Optional<Obstacle> dead = deadHolders.clear(holders, sentAt, deadline);
        if (dead.isPresent()) {
            return dead.map(obstacle -> obstacle);
        }
        Duration protectedFor = deadHolders.backoffRemaining();
        return Optional.of(new SharedByOthers(
                seen, holders.size(), protectedFor.isZero() ? untilLeaseEnds(holders) : protectedFor));
    }

    private @Nullable Duration untilLeaseEnds(List<HolderSnapshot> holders) {
        return holders.stream()
                .filter(holding -> holding.holder().nodeId() == null)
                .map(holding -> holding.timeUntilOver().plus(tolerance))
                .min(Duration::compareTo)
                .orElse(null);
    }

    /**
     * Keeps new shared holders out, once the caller has waited for some time. The caller must not have the row locked.
     *
     * @throws StoreException if the database failed
     */
    public void reserve(SharedByOthers refused, Deadline deadline) {
        if (!deadline.isLong() || deadline.isOver()) {
            return;
        }
        closeShares.accept(name);
        LockSnapshot seen = refused.seen();
        if (!seen.row().isReserved(seen.dbNow().plus(RESERVED_AGAIN))) {
            store().inTransaction(deadline.forOneStatement(), () -> {
                store().permits().reserve(name, RESERVED);
                return true;
            });
            hasReserved = true;
        }
    }

    /** Lets new shared holders in again, after the acquisition has given up. In the background; if it fails, they come in later. */
    public void giveUp() {
        if (hasReserved) {
            access.inDoubtWrites().soon(() -> {
                store().inTransaction(Waiter.POLL_PERIOD, () -> {
                    store().permits().cancelReservation(name);
                    return true;
                });
                access.waiterNotifier().lockReleased(name);
                access.waiterNotifier().wakeNext(name);
            });
        }
    }

    private LockStore store() {
        return access.store();
    }
}
