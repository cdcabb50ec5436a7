package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.Attempt.Granted;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The row of a hold as it was last written, and the compare-and-sets that change it. One thread at a time may write; any
 * may look.
 */
final class HeldRow {

    private static final Logger LOG = LoggerFactory.getLogger(HeldRow.class);

    /** How long a renewal or release goes on trying while the database does not answer. */
    static final Duration WRITE_LIMIT = Duration.ofSeconds(3);

    private static final Duration LOOK = Duration.ofSeconds(3);

    private final Internals internals;
    private final String owner;
    private final boolean ownerIsChosen;
    private volatile LockEntity current;

    /** What the last write was to make of the row. */
    private LockEntity sent;

    /** Whether it was granted to the next one without an answer. */
    private boolean isPassedOn;

    /** Whether an attempt of the last write had no answer, so that the row may be as it is through that attempt. */
    private boolean unanswered;

    HeldRow(Internals internals, LockEntity granted, boolean ownerIsChosen) {
        this.internals = internals;
        this.owner = Objects.requireNonNull(granted.owner(), "a granted lock has an owner");
        this.current = granted;
        this.sent = granted;
        this.ownerIsChosen = ownerIsChosen;
    }

    String owner() {
        return owner;
    }

    LockEntity current() {
        return current;
    }

    /** Whether it was written last that nobody holds the lock. */
    boolean isFree() {
        return current.owner() == null;
    }

    /** One of the compare-and-sets of {@link LockRepository}. */
    interface CompareAndSet {
        boolean write(LockRepository locks, LockEntity before, LockEntity after);
    }

    /**
     * Grants the lock to the one who waits for it, in place of giving it back.
     *
     * @param runsSince since when others may have waited while the lock went from one thread here to the next
     * @return empty if it is still to be given back
     */
    Optional<Granted> grantTo(Heir next, long runsSince, Ticker ticker) {
        try {
            return Patience.uninterruptibly(
                    ticker,
                    Duration.ZERO,
                    patience -> next.write(internals.standalone(patience.forOneStatement()), current, runsSince));
        } catch (StoreException failed) {
            isPassedOn = failed.failure().isAmbiguous();
            return Optional.empty();
        } catch (RuntimeException failed) {
            // Whatever it was, the lock is still to be given back.
            LogEvent.INTERNAL_FAILED
                    .of(current.name(), LOG.atWarn())
                    .setCause(failed)
                    .log("Lock '{}' was not granted to the thread that waits for it", current.name());
            isPassedOn = true;
            return Optional.empty();
        }
    }

    /**
     * Gives one hold back.
     *
     * @param left how many the owner has left in this process; 0 frees the row, unless the owner was chosen and others hold it
     * @return {@link ReleaseOutcome#LOST} if the row is no longer this grant's
     */
    ReleaseOutcome giveBack(int left, Ticker ticker) {
        try {
            boolean done = Patience.uninterruptibly(
                    ticker,
                    WRITE_LIMIT,
                    patience -> write(
                            row -> ownerIsChosen ? row.released() : row.heldTimes(left),
                            internals.wakeUps()::release,
                            snapshot -> true,
                            patience));
            if (!done && (unanswered || isPassedOn) && left == 0) {
                return releasedWithoutAnswer(ticker);
            }
            return done ? outcome(current) : ReleaseOutcome.LOST;
        } catch (StoreException failed) {
            return unresolved(failed, left);
        } catch (RuntimeException thrown) {
            if (ownerIsChosen) {
                // Its transaction was rolled back.
                internals.settler().giveBack(current);
            }
            throw thrown;
        }
    }

    /**
     * The row is no longer this grant's: an attempt that had no answer has freed it or granted it to the next one, or the lock was forced
     * away before. What the row shows, a failover may undo, unless a later write is answered.
     *
     * @throws StoreException if the database failed
     */
    private ReleaseOutcome releasedWithoutAnswer(Ticker ticker) {
        LockEntity last = current;
        return Patience.untilDecided(
                ticker,
                LOOK,
                () -> internals.store().inTransaction(LOOK, locks -> {
                    if (isForced(last)) {
                        return ReleaseOutcome.LOST;
                    }
                    // A holder whose row it is now reads it again before its next write.
                    Optional<LockSnapshot> seen = locks.read(last.name());
                    if (seen.isPresent()
                            && !locks.supersede(last.name(), seen.get().row().version())) {
                        throw StoreException.overtaken();
                    }
                    return ReleaseOutcome.RELEASED;
                }));
    }

    private boolean isForced(LockEntity last) {
        return internals.store().audits().wasForced(last.name(), last.fencingToken());
    }

    private static ReleaseOutcome outcome(LockEntity written) {
        return written.owner() == null ? ReleaseOutcome.RELEASED : ReleaseOutcome.STILL_HELD;
    }

    private ReleaseOutcome unresolved(StoreException failed, int left) {
        if (!ownerIsChosen) {
            // While a handle is open, the next write corrects the count.
            if (left == 0) {
                abandon();
            }
            return ReleaseOutcome.UNRESOLVED;
        }
        if (failed.failure().isAmbiguous()) {
            // It may have been done, and doing it twice would give back another process's hold.
            current = sent;
            return outcome(sent);
        }
        internals.settler().giveBack(current);
        return ReleaseOutcome.UNRESOLVED;
    }

    /**
     * Writes the row as it is; if it is no longer this grant's, somebody else has.
     *
     * @throws StoreException if the database did not answer in time
     */
    void touch(Ticker ticker) {
        boolean unused = Patience.uninterruptibly(
                ticker,
                WRITE_LIMIT,
                patience -> write(
                        row -> row.heldTimes(row.holdCount()), LockRepository::recount, snapshot -> true, patience));
    }

    /** Has the row freed. What a chosen owner holds may be another process's, and ends with the lease or the node. */
    void abandon() {
        if (!ownerIsChosen) {
            internals.settler().abandon(current.name(), owner, current.version());
        }
    }

    /**
     * Asks the database how long the grant lasts, unless it is renewed; zero if that is over.
     *
     * @return empty if the row is no longer this grant's
     * @throws StoreException if the database failed
     */
    Optional<Duration> left() {
        LockEntity last = current;
        return internals
                .store()
                .inTransaction(
                        LOOK,
                        locks -> locks.read(last.name())
                                .filter(seen -> seen.row().isSameGrantAs(last))
                                .map(LockSnapshot::timeUntilOver));
    }

    /**
     * Asks the database why the row is no longer this grant's.
     *
     * @return empty if it still is
     * @throws StoreException if the database failed
     */
    Optional<LossCause> whyGone() {
        LockEntity last = current;
        return internals.store().inTransaction(LOOK, locks -> {
            if (locks.read(last.name())
                    .filter(seen -> seen.row().isSameGrantAs(last))
                    .isPresent()) {
                return Optional.empty();
            }
            return Optional.of(isForced(last) ? LossCause.FORCED : LossCause.TAKEN_OVER);
        });
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
        Optional<LockEntity> written =
                patience.repeat(() -> attempt(patience.forOneStatement(), next, change, fit), failed -> {
                    unanswered |= failed.failure().isAmbiguous();
                    return failed.failure().isTransient()
                            && !(ownerIsChosen && failed.failure().isAmbiguous());
                });
        written.ifPresent(after -> current = after);
        return written.isPresent();
    }

    /**
     * What was done in the name of an owner that others use too, the row cannot tell afterwards: so it is known as long as possible that
     * it was not done.
     */
    private Optional<LockEntity> attempt(
            Duration atMost, UnaryOperator<LockEntity> next, CompareAndSet change, Predicate<LockSnapshot> fit) {
        return ownerIsChosen
                ? internals.store().inTransaction(atMost, locks -> attempt(locks, next, change, fit))
                : attempt(internals.standalone(atMost), next, change, fit);
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
