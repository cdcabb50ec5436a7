package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.Standing;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.IntUnaryOperator;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One grant of a lock, shared by the handles of its nested acquisitions: the row as it was last written, the writes that
 * change it, one at a time, and how long it is valid by the local clock. Thread-safe.
 */
final class Hold {

    /** How long a renewal or release goes on trying while the database does not answer. */
    private static final Duration WRITE_LIMIT = Duration.ofSeconds(3);

    /**
     * A lease counts as over locally one thousandth early: NTP corrects a clock by slewing it up to 500 ppm
     * (https://www.rfc-editor.org/rfc/rfc5905, section 12), and there are two clocks.
     */
    private static final long DRIFT = 1000;

    private final Internals internals;
    private final String name;
    private final String owner;
    private final long fencingToken;
    private final boolean ownerIsChosen;
    private final Duration lease;
    private final AtomicReference<@Nullable String> loss = new AtomicReference<>();
    private volatile long validUntil;
    private volatile @Nullable Thread boundTo;

    private final ReentrantLock writing = new ReentrantLock();
    private final HeldRow row;

    /** How many handles are open. The row's count may be others' too, or wait for the next write to be corrected. */
    private volatile int handles = 1;

    /**
     * A hold that was just granted.
     *
     * @param row the row as it was written, with an owner
     * @param request what it was granted for
     * @param validFrom the local time before the statement was sent that granted it
     * @param validFor how long the database's lease lasted at that time
     */
    Hold(Internals internals, LockEntity row, LockRequest request, long validFrom, Duration validFor) {
        this.internals = internals;
        this.name = row.name();
        this.owner = Objects.requireNonNull(row.owner(), "a granted lock has an owner");
        this.fencingToken = row.fencingToken();
        this.ownerIsChosen = request.owner().isPresent();
        this.row = new HeldRow(internals.store(), row, ownerIsChosen);
        this.lease = request.lease().orElse(validFor);
        this.validUntil = deadline(validFrom, validFor);
    }

    private static long deadline(long validFrom, Duration validFor) {
        return validFrom + validFor.toNanos() - validFor.toNanos() / DRIFT;
    }

    String name() {
        return name;
    }

    String owner() {
        return owner;
    }

    long fencingToken() {
        return fencingToken;
    }

    int holdCount() {
        return ownerIsChosen ? row.current().holdCount() : handles;
    }

    void bindTo(Thread thread) {
        boundTo = thread;
    }

    @Nullable
    Thread boundTo() {
        return boundTo;
    }

    /** How long it is valid still, by the local clock; zero if it is lost. */
    Duration remaining() {
        long left = validUntil - internals.ticker().nanoTime();
        if (left <= 0) {
            lose("its lease is over");
        }
        return loss.get() == null ? Duration.ofNanos(left) : Duration.ZERO;
    }

    /** Whether it is lost, which is final: a renewal that was on its way cannot bring it back. */
    boolean isLost() {
        return remaining().isZero();
    }

    void lose(String why) {
        if (loss.compareAndSet(null, why)) {
            internals.held().unbind(this);
        }
    }

    LockLostException lost() {
        String why = loss.get();
        return new LockLostException(name, why == null ? "it was released" : why);
    }

    /**
     * Counts one more handle, in the database too.
     *
     * @return false if the hold is lost
     * @throws LockStoreException if the database failed; no handle was counted
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted; no handle was counted
     */
    boolean reenter(Duration atLeast, Patience patience) throws InterruptedException {
        writing.lock();
        try {
            if (handles == Integer.MAX_VALUE) {
                throw new IllegalStateException("Lock '" + name + "' is already held " + handles + " times");
            }
            int entered = handles + 1;
            if (handles == 0 || isLost() || !extend(current -> current.heldTimes(entered), atLeast, patience)) {
                return false;
            }
            handles = entered;
            return true;
        } catch (StoreException failed) {
            throw new LockStoreException(name, "was not re-entered", failed);
        } finally {
            writing.unlock();
        }
    }

    /**
     * Lets the lease last at least this long from now.
     *
     * @throws LockLostException if the hold is lost
     * @throws LockStoreException if the database failed; the lease ends when it would have
     */
    void renew(Duration atLeast) {
        writing.lock();
        try (Patience patience = Patience.uninterruptible(internals.ticker(), WRITE_LIMIT)) {
            if (handles == 0
                    || isLost()
                    || !extend(current -> current.heldTimes(timesHeld(current)), atLeast, patience)) {
                throw lost();
            }
        } catch (StoreException failed) {
            throw new LockStoreException(name, "was not renewed", failed);
        } catch (InterruptedException thrown) {
            throw new AssertionError("A renewal is not interruptible", thrown);
        } finally {
            writing.unlock();
        }
    }

    void ensureValidFor(Duration wanted) {
        if (!isLost() && remaining().compareTo(wanted) < 0) {
            Duration generous = wanted.plus(wanted.dividedBy(DRIFT / 2)).plusSeconds(1);
            renew(generous.compareTo(lease) > 0 ? generous : lease);
        }
        Duration left = remaining();
        if (isLost()) {
            throw lost();
        }
        if (left.compareTo(wanted) < 0) {
            throw new LockLostException(name, "only " + left + " of its lease is left");
        }
    }

    private int timesHeld(LockEntity current) {
        return ownerIsChosen ? current.holdCount() : handles;
    }

    private boolean extend(UnaryOperator<LockEntity> next, Duration atLeast, Patience patience)
            throws InterruptedException {
        long[] sentAt = new long[1];
        boolean extended = row.write(
                next,
                (locks, before, after) -> {
                    sentAt[0] = internals.ticker().nanoTime();
                    return locks.extend(before, after, atLeast);
                },
                snapshot -> snapshot.standing(owner) == Standing.MINE,
                patience);
        if (!extended) {
            lose("the database says that it is over or was taken");
            return false;
        }
        // Whoever was told meanwhile that the hold is lost must not be contradicted, nor wait for what was extended.
        if (isLost()) {
            abandon();
            return false;
        }
        long until = deadline(sentAt[0], atLeast);
        if (until - validUntil > 0) {
            validUntil = until;
        }
        return true;
    }

    /**
     * Gives one handle's hold back; the last one frees the lock. Never throws for a loss, nor because the database
     * failed.
     */
    ReleaseOutcome release() {
        return release(open -> open - 1);
    }

    /** Frees the lock, however many handles are open; their own releases answer that it is lost. */
    ReleaseOutcome releaseAll() {
        return release(open -> 0);
    }

    private ReleaseOutcome release(IntUnaryOperator left) {
        boolean wasLost = false;
        writing.lock();
        try (Patience patience = Patience.uninterruptible(internals.ticker(), WRITE_LIMIT)) {
            if (handles == 0) {
                return ReleaseOutcome.LOST;
            }
            wasLost = isLost();
            handles = left.applyAsInt(handles);
            if (handles == 0) {
                internals.held().remove(this);
            }
            boolean done = row.write(
                    current -> ownerIsChosen ? current.released() : current.heldTimes(handles),
                    LockRepository::release,
                    snapshot -> true,
                    patience);
            boolean freedUnanswered = !done && row.isUnanswered() && handles == 0;
            if (wasLost || !(done || freedUnanswered)) {
                lose("the database says that it is over or was taken");
                return ReleaseOutcome.LOST;
            }
            return freedUnanswered || row.current().owner() == null
                    ? ReleaseOutcome.RELEASED
                    : ReleaseOutcome.STILL_HELD;
        } catch (StoreException failed) {
            ReleaseOutcome outcome = unresolved(failed);
            return wasLost ? ReleaseOutcome.LOST : outcome;
        } catch (InterruptedException thrown) {
            throw new AssertionError("A release is not interruptible", thrown);
        } finally {
            writing.unlock();
        }
    }

    /** Has the row freed. What a chosen owner holds may be another process's, and ends with the lease. */
    private void abandon() {
        if (!ownerIsChosen) {
            internals.settler().abandon(name, owner, row.current().version());
        }
    }

    private ReleaseOutcome unresolved(StoreException failed) {
        if (!ownerIsChosen) {
            // While a handle is open, the next write corrects the count.
            if (handles == 0) {
                abandon();
            }
            return ReleaseOutcome.UNRESOLVED;
        }
        if (failed.failure().isAmbiguous()) {
            // It may have been done, and doing it twice would give back another process's hold.
            return row.assumeWritten().owner() == null ? ReleaseOutcome.RELEASED : ReleaseOutcome.STILL_HELD;
        }
        internals.settler().giveBack(row.current());
        return ReleaseOutcome.UNRESOLVED;
    }
}
