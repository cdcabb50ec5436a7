package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.RowTransaction;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Failed;
import io.github.holdfast.service.Attempt.Free;
import io.github.holdfast.service.Attempt.GaveUp;
import io.github.holdfast.service.Attempt.InUse;
import io.github.holdfast.service.Attempt.Locked;
import io.github.holdfast.service.Attempt.Missing;
import io.github.holdfast.service.Attempt.Overdue;
import io.github.holdfast.service.Attempt.Overtaken;
import io.github.holdfast.service.Attempt.Refused;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition of a row lock: looks whether the lock is free, without locking the row, so that whoever holds it by a lease
 * can write it; then locks the row; and compares it with the one that was free. What a dead holder left is taken from it
 * before, in a transaction of its own, so that the one that locks the row writes nothing. Not thread-safe.
 */
abstract sealed class RowAcquisition permits OwnRowAcquisition, CallersRowAcquisition {

    /** No owner is empty. */
    static final String NOBODY = "";

    /** The databases wait for whole seconds, which may be one too many; for less than this it is not worth it. */
    private static final Duration SHORTEST_WAIT = Duration.ofMillis(100);

    private final Internals internals;
    private final String name;
    private final AcquireLoop loop;
    private @Nullable Attempt last;

    RowAcquisition(Internals internals, String name) {
        this.internals = internals;
        this.name = name;
        this.loop = new AcquireLoop(internals, name);
    }

    /** Locks the row of a lock that was seen to be free. */
    abstract Attempt lock(LockEntity free, Patience patience);

    /** What to throw if the database failed. */
    abstract HoldfastException notLocked(StoreException why);

    Internals internals() {
        return internals;
    }

    String name() {
        return name;
    }

    /** How the last attempt came out; null if there was none. */
    @Nullable
    Attempt last() {
        return last;
    }

    /**
     * Tries until the row is locked or the patience is over.
     *
     * @return empty if the lock is somebody else's
     * @throws LockDeadlockException if the caller's transaction and another one waited for each other
     * @throws LockStoreException if the database refused, or failed until the patience was over
     * @throws IllegalStateException if there are too many row locks
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted; nothing is locked then
     */
    Optional<Locked> within(Patience patience) throws InterruptedException {
        last = loop.repeat(patience, this::attempt);
        if (last instanceof Failed failed) {
            throw notLocked(failed.why());
        }
        if (last instanceof GaveUp gaveUp) {
            throw notLocked(gaveUp.why());
        }
        if (last instanceof Missing) {
            throw notLocked(StoreException.invisible());
        }
        return last instanceof Locked locked ? Optional.of(locked) : Optional.empty();
    }

    private Attempt attempt(Patience patience) {
        Attempt look = look(patience);
        return look instanceof Free free ? lock(free.row(), patience) : look;
    }

    final Attempt look(Patience patience) {
        try {
            return internals.store().inTransaction(patience.forOneStatement(), this::judge);
        } catch (StoreException failed) {
            return loop.failed(failed, patience);
        }
    }

    private Attempt judge(LockRepository locks) {
        Optional<LockSnapshot> seen = locks.read(name);
        if (seen.isEmpty()) {
            return new Missing();
        }
        LockEntity row = seen.get().row();
        return switch (seen.get().standing(NOBODY, null, internals.clockTolerance())) {
            case FREE -> row.owner() == null ? new Free(row) : vacate(row);
            case NODE_OVERDUE -> new Overdue(Objects.requireNonNull(row.nodeId(), "only a node can be overdue"));
            case MINE, HELD, DELAYED -> new Refused(seen.get(), internals.clockTolerance());
        };
    }

    private Attempt vacate(LockEntity row) {
        boolean unused = internals.store().vacancies().vacate(row, row.vacated(), internals.lockDelay());
        return new Overtaken();
    }

    static boolean isWorthWaiting(Patience patience) {
        return patience.left().compareTo(SHORTEST_WAIT) >= 0;
    }

    /** Waits until the row can be locked, or looks whether it can, if there is no time to wait. */
    final Attempt lockIn(RowTransaction transaction, LockEntity free, Duration atMost, Patience patience) {
        return isWorthWaiting(patience)
                ? transaction
                        .lock(name, atMost)
                        .map(row -> compare(row, free, transaction))
                        .orElseGet(Missing::new)
                : lockIfFreeIn(transaction, free);
    }

    final Attempt lockIfFreeIn(RowTransaction transaction, LockEntity free) {
        return transaction
                .lockIfFree(name)
                .map(row -> compare(row, free, transaction))
                .orElseGet(InUse::new);
    }

    private static Attempt compare(LockEntity row, LockEntity free, RowTransaction transaction) {
        return row.version() == free.version() ? new Locked(row, transaction) : new Overtaken();
    }
}
