package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;

/**
 * The row of a hold as it was last written, and the compare-and-sets that change it. One thread at a time may write; any
 * may look.
 */
final class HeldRow {

    private final LockStore store;
    private final boolean ownerIsChosen;
    private volatile LockEntity current;

    /** What the last write was to make of the row. */
    private LockEntity sent;

    /** Whether an attempt of the last write had no answer, so that the row may be as it is through that attempt. */
    private boolean unanswered;

    HeldRow(LockStore store, LockEntity granted, boolean ownerIsChosen) {
        this.store = store;
        this.current = granted;
        this.sent = granted;
        this.ownerIsChosen = ownerIsChosen;
    }

    LockEntity current() {
        return current;
    }

    boolean isUnanswered() {
        return unanswered;
    }

    /** Takes the last write, which was not answered, for done. */
    LockEntity assumeWritten() {
        current = sent;
        return sent;
    }

    /** One of the compare-and-sets of {@link LockRepository}. */
    interface CompareAndSet {
        boolean write(LockRepository locks, LockEntity before, LockEntity after);
    }

    /**
     * Writes the row: from what was last written, and if that is no longer how it stands, from how it stands.
     *
     * @return false if it is no longer this grant's, or not {@code fit} to be written
     * @throws StoreException if the database did not answer in time, or refused; for a chosen owner, also at once when it
     *     is not known whether the write happened
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted
     */
    boolean write(UnaryOperator<LockEntity> next, CompareAndSet change, Predicate<LockSnapshot> fit, Patience patience)
            throws InterruptedException {
        unanswered = false;
        while (true) {
            try {
                Optional<LockEntity> written =
                        store.inTransaction(patience.forOneStatement(), locks -> attempt(locks, next, change, fit));
                written.ifPresent(after -> current = after);
                return written.isPresent();
            } catch (StoreException failed) {
                unanswered |= failed.failure().isAmbiguous();
                if (failed.failure() == Failure.UNAVAILABLE && patience.takeInterrupt()) {
                    continue;
                }
                boolean repeatable = failed.failure().isTransient()
                        && !(ownerIsChosen && failed.failure().isAmbiguous());
                boolean isOver = failed.failure().isUndecided() ? patience.isOverForDecision() : patience.isOver();
                if (!repeatable || isOver) {
                    throw failed;
                }
                patience.pause(null);
            }
        }
    }

    private Optional<LockEntity> attempt(
            LockRepository locks, UnaryOperator<LockEntity> next, CompareAndSet change, Predicate<LockSnapshot> fit) {
        if (send(locks, change, current, next)) {
            return Optional.of(sent);
        }
        Optional<LockEntity> before = locks.read(current.name())
                .filter(snapshot -> snapshot.row().isSameGrantAs(current) && fit.test(snapshot))
                .map(LockSnapshot::row);
        if (before.isPresent() && !send(locks, change, before.get(), next)) {
            throw StoreException.overtaken();
        }
        return before.map(written -> sent);
    }

    private boolean send(
            LockRepository locks, CompareAndSet change, LockEntity before, UnaryOperator<LockEntity> next) {
        sent = next.apply(before);
        return change.write(locks, before, sent);
    }
}
