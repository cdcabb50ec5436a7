package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.service.Attempt.Granted;
import java.time.Duration;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Who has a lock after a hold: the thread of this process that waits for it, which it is granted to by the one that gives it back, or
 * whoever looks first. Thread-safe.
 *
 * <p>As long as threads wait in the queue, a lock would never leave it: nobody else sees it free. So after a while, if others say that
 * they wait, it is given back for them, and those in the queue look only when they have had the time to.
 */
final class Succession {

    /** How long others may wait while the lock goes from one thread of this process to the next. */
    private static final Duration LONGEST_RUN = Duration.ofSeconds(1);

    /**
     * After which time with threads in the queue it is freed even if nobody says that he waits: who asks without waiting does not, nor
     * who could not write.
     */
    private static final Duration LONGEST_KEPT = Duration.ofSeconds(10);

    private final String name;
    private final Internals internals;

    /** Since when others may have waited in vain; local time. */
    private volatile long runsSince;

    private volatile boolean hasBegun;

    /** Whether others are to have the lock; known when this has begun. */
    private volatile boolean isRunOver;

    private volatile @Nullable Heir heir;

    Succession(Internals internals, Granted granted) {
        this.internals = internals;
        this.name = granted.row().name();
        this.runsSince = granted.runsSince();
    }

    /** The calling thread waits; only the first in the queue does. */
    void expect(Heir next) {
        heir = next;
    }

    /** Whether the hold is being given back. From then on nobody is chosen that was not expected before. */
    boolean hasBegun() {
        return hasBegun;
    }

    /** The hold is being given back. If others are to have the lock, those who wait here must know that before they look themselves. */
    void begin() {
        begin(() -> true);
    }

    /**
     * As {@link #begin}, and grants the lock to the one who waits for it.
     *
     * @param row that is this hold's
     * @return what became of the lock; empty if the row is to be given back: nobody waits here, or others are to have the lock, or it
     *     was not written
     */
    Optional<ReleaseOutcome> passOn(HeldRow row) {
        if (!internals.held().isAccepting()) {
            begin();
            return Optional.empty();
        }
        begin(this::mayOthersWait);
        Heir next = heir;
        return next != null && !isRunOver && next.choose() ? passedOn(row, next) : Optional.empty();
    }

    private void begin(BooleanSupplier others) {
        try {
            long now = internals.ticker().nanoTime();
            if (now - runsSince >= LONGEST_RUN.toNanos() && internals.queue().isWaitedFor(name)) {
                isRunOver = others.getAsBoolean();
                if (isRunOver) {
                    internals.queue().offer(name);
                } else {
                    runsSince = now;
                }
            }
        } finally {
            hasBegun = true;
        }
    }

    private boolean mayOthersWait() {
        return internals.queue().sinceOffered(name).compareTo(LONGEST_KEPT) >= 0
                || internals.wakeUps().isAnotherWaiting(name);
    }

    /**
     * The lock was given back.
     *
     * @param row as it was written
     */
    void leave(LockEntity row) {
        boolean isWaitedFor = internals.queue().isWaitedFor(name);
        if (isWaitedFor && isRunOver) {
            internals.queue().offer(name);
        } else {
            internals
                    .remembered()
                    .put(row, isWaitedFor ? runsSince : internals.ticker().nanoTime());
        }
    }

    /** From the first moment on in which the row may be the next one's, that is accounted for, whether that one is there or has left. */
    private Optional<ReleaseOutcome> passedOn(HeldRow row, Heir next) {
        LockEntity before = row.current();
        internals.held().beginGrant(name, next.owner());
        try {
            Optional<Granted> granted = Optional.empty();
            boolean isThere = false;
            try {
                granted = row.grantTo(next, runsSince, internals.ticker());
            } finally {
                isThere = next.answer(granted);
                if (!isThere && granted.isEmpty()) {
                    // Whether it was written or will be, nobody waits to see; this hold's own write settles it too, if
                    // that is done.
                    internals.settler().abandon(name, next.owner(), before.version());
                }
            }
            return isThere ? granted.map(grant -> ReleaseOutcome.RELEASED) : granted.map(this::takenBack);
        } finally {
            internals.held().endGrant(name, next.owner());
        }
    }

    /** Gives back what was granted to a thread that had left before. */
    private ReleaseOutcome takenBack(Granted granted) {
        HeldRow left = new HeldRow(internals, granted.row(), false);
        ReleaseOutcome outcome;
        try {
            outcome = left.giveBack(0, internals.ticker());
        } catch (RuntimeException | Error failed) {
            left.abandon();
            throw failed;
        }
        if (outcome == ReleaseOutcome.RELEASED && left.isFree()) {
            leave(left.current());
        }
        internals.givenBack(name);
        // If it was lost, then not by the one that gives the lock back.
        return outcome == ReleaseOutcome.UNRESOLVED ? outcome : ReleaseOutcome.RELEASED;
    }
}
