package io.github.holdfast.service.engine.hold;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.LockRow;
import io.github.holdfast.service.engine.row.LockRow.Successor;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The release of a lock, which decides the next holder. If a thread of this process waits for the lock, the releasing thread grants the
 * lock to it. Otherwise, the first attempt gets the lock. Thread-safe.
 *
 * <p>Other processes never see a lock free that is handed off. As long as threads wait in the queue, the lock would stay in this
 * process. So after a while, the lock is released for other processes, if they have announced waiters. The threads in the queue
 * wait, so that the other processes have time to acquire it.
 */
public final class HandOff extends GrantRelease {

    /** How long this process may keep the lock while it polls, and others wait. */
    private static final Duration LONGEST_RUN = Duration.ofSeconds(1);

    /**
     * The same while waiters of other nodes are woken, if one other node waits. If several wait, each gets a share, so that each
     * waits about this long for its turn. Shorter runs would spend too much of their time on the change of hands, which takes 2
     * to 5 ms.
     */
    private static final Duration LONGEST_RUN_WITH_WAKE_UP = Duration.ofMillis(250);

    /**
     * How long a lock is left to other processes that poll. This is more than twice their longest pause, so that even slow
     * processes acquire the lock. With 60 ms, they missed every fourth offer on a busy machine.
     */
    private static final Duration OFFER = Duration.ofMillis(100);

    /** How long a lock is left to the node that was just woken. */
    private static final Duration OFFER_WITH_WAKE_UP = Duration.ofMillis(25);

    /**
     * How long threads may wait in the queue before the lock is released even without an announced waiter. A caller that does not
     * wait announces nothing, and an announcement may fail.
     */
    private static final Duration LONGEST_KEPT = Duration.ofSeconds(10);

    private final String name;
    private final LockRow row;
    private final NewGrant.OfLock granted;
    private final KeptLocks kept;
    private final LockAccess access;
    private final PendingAcquisitions pending;
    private final ServicePhase phase;

    /** Others may have waited without a hand-over since this local time. */
    private volatile long runsSince;

    private volatile boolean hasBegun;

    /** Whether the lock is released for others; decided when the release begins. */
    private volatile boolean isRunOver;

    private volatile @Nullable HandOffWaiter waiter;

    private volatile @Nullable Successor successor;

    /**
     * What follows on a hold.
     *
     * @param row the row of the hold
     * @param granted its grant
     */
    public HandOff(
            LockAccess access,
            PendingAcquisitions pending,
            ServicePhase phase,
            KeptLocks kept,
            LockRow row,
            NewGrant.OfLock granted) {
        super(access, row);
        this.row = row;
        this.granted = granted;
        this.kept = kept;
        this.access = access;
        this.pending = pending;
        this.phase = phase;
        this.name = row.name();
        this.runsSince = granted.runsSince();
    }

    @Override
    void expect(HandOffWaiter next) {
        waiter = next;
    }

    @Override
    void expect(Successor next) {
        successor = next;
    }

    @Override
    boolean hasBegun() {
        return hasBegun;
    }

    @Override
    void beginWithoutNext() {
        begin(HandOff::assumeOneWaiter);
    }

    @Override
    Optional<ReleaseOutcome> begin(GrantedHold hold) {
        Successor grant = successor;
        if (grant != null) {
            hasBegun = true;
            return row.grantTo(grant) ? Optional.of(ReleaseOutcome.RELEASED) : Optional.empty();
        }
        if (!phase.isAccepting()) {
            beginWithoutNext();
            return Optional.empty();
        }
        begin(isAwaitedHere() ? this::countOthers : HandOff::assumeOneWaiter);
        if (isRunOver) {
            return Optional.empty();
        }
        HandOffWaiter next = waiter;
        boolean mayKeep = claimForNext(hold);
        if (mayKeep && next != null && kept.passOn(next(), next)) {
            return Optional.of(ReleaseOutcome.KEPT);
        }
        if (next != null && next.choose()) {
            return handOffTo(next);
        }
        return mayKeep && kept.keep(next()) ? Optional.of(ReleaseOutcome.KEPT) : Optional.empty();
    }

    /**
     * Ends the transactions of this hold under the grant, so that the next holder can have it.
     *
     * @return false if the row must be written first: it may not show this grant, or a transaction depends on the write
     */
    private boolean claimForNext(GrantedHold hold) {
        return granted.hasTokenLeft()
                && row.isKnown()
                && row.holdCount() == 1
                && hold.holdTransactions().passOn();
    }

    /** The grant for the next holder in this process, if the row is not written. */
    private NewGrant.OfLock next() {
        return granted.next(row.current(), runsOnSince());
    }

    private long runsOnSince() {
        return isContended() ? runsSince : access.ticker().nanoTime();
    }

    private void begin(IntSupplier others) {
        try {
            long run = access.ticker().nanoTime() - runsSince;
            if (run >= slice().toNanos() && isContended()) {
                int count = others.getAsInt();
                isRunOver = count > 0 && run >= slice().toNanos();
                if (isRunOver) {
                    offer();
                } else if (count == 0) {
                    runsSince = access.ticker().nanoTime();
                }
            }
        } finally {
            hasBegun = true;
        }
    }

    /** Whether others wait for the lock, as far as this process knows. */
    private boolean isContended() {
        return isAwaitedHere() || access.waiterNotifier().isAwaitedElsewhere(name);
    }

    private boolean isAwaitedHere() {
        return access.queue().isWaitedFor(name) || access.waiterNotifier().isAwaited(name);
    }

    /** How long this process may keep the lock, as far as it knows how many others wait. */
    private Duration slice() {
        return access.waiterNotifier().isListening()
                ? LONGEST_RUN_WITH_WAKE_UP.dividedBy(access.waiterNotifier().othersLastCounted(name))
                : LONGEST_RUN;
    }

    private void offer() {
        access.queue().offer(name, access.waiterNotifier().isListening() ? OFFER_WITH_WAKE_UP : OFFER);
    }

    /**
     * A thread of another service has waited within the last seconds. That is enough if no thread waits here. If it is out of date, a
     * thread that comes within the time of the offer waits until the end of that.
     */
    private static int assumeOneWaiter() {
        return 1;
    }

    private int countOthers() {
        return access.queue().sinceOffered(name).compareTo(LONGEST_KEPT) >= 0
                ? 1
                : access.waiterNotifier().countOthers(name);
    }

    /** {@inheritDoc} The release of a lock writes the row, and so waits for them. */
    @Override
    boolean awaitEnd(GrantedHold hold) {
        return true;
    }

    @Override
    void released() {
        leave(row.current());
    }

    private void leave(LockEntity free) {
        if (isRunOver) {
            offer();
        } else {
            access.freeRows().released(free, runsOnSince());
        }
    }

    /**
     * Grants the lock to the waiting thread. The next owner is registered before the row can show it. So no reconciliation frees
     * the row, even if the thread has stopped waiting.
     */
    private Optional<ReleaseOutcome> handOffTo(HandOffWaiter next) {
        LockEntity before = row.current();
        pending.beginGrant(name, next.owner());
        try {
            Optional<NewGrant.OfLock> granted = Optional.empty();
            boolean isThere = false;
            try {
                granted = row.grantTo((locks, held) -> next.write(locks, held, runsSince));
            } finally {
                isThere = next.answer(granted);
                if (!isThere && granted.isEmpty()) {
                    // The thread has left, so no other thread would settle its grant. The release of this hold settles
                    // it too, if it succeeds.
                    access.inDoubtWrites().abandon(name, next.owner(), before.version());
                }
            }
            return isThere ? granted.map(grant -> ReleaseOutcome.RELEASED) : granted.map(this::takeBack);
        } finally {
            pending.endGrant(name, next.owner());
        }
    }

    /** Releases a grant again, because its thread left before the answer. */
    private ReleaseOutcome takeBack(NewGrant.OfLock granted) {
        LockRow left = new LockRow(access, granted.row(), false);
        ReleaseOutcome outcome = left.release();
        if (outcome == ReleaseOutcome.RELEASED && left.isReleased()) {
            leave(left.current());
        }
        access.lockReleased(name);
        // A loss of that grant is no loss for the holder that releases the lock.
        return outcome == ReleaseOutcome.UNRESOLVED ? outcome : ReleaseOutcome.RELEASED;
    }
}
