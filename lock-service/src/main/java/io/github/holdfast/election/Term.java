package io.github.holdfast.election;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockState;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One term of a leader. The thread that has acquired the lock leads. Another thread checks whether the term has ended, and calls {@link
 * LeaderCallbacks#onRevoked} if the leading thread does not return. Thread-safe.
 */
final class Term implements Leadership {

    /** How long the leading thread may take to return after it was interrupted. */
    static final Duration PATIENCE = Duration.ofSeconds(1);

    /** A loss is reported at once. This check covers a listener that delays the report. */
    private static final Duration CHECK_PERIOD = Duration.ofSeconds(1);

    /** No event shows that the heartbeat is overdue. */
    private static final Duration SUSPICION_CHECK_PERIOD = Duration.ofMillis(100);

    private final LockHandle lock;
    private final ElectionRequest request;
    private final LeaderCallbacks callbacks;
    private final Thread leading = Thread.currentThread();
    private final ScheduledExecutorService watch;
    private final CountDownLatch over = new CountDownLatch(1);
    private final CountDownLatch revoked = new CountDownLatch(1);
    private volatile @Nullable RevocationCause cause;
    private volatile @Nullable Thread revoking;

    /** Whether the leading thread runs code of the user, and is to be interrupted at the end of the term. */
    private boolean isWorking;

    /** Whether the end of the term has interrupted the leading thread. */
    private boolean isInterrupted;

    /**
     * A term of the calling thread, which has just acquired this lock.
     *
     * @param watch has the thread that checks whether the term has ended
     */
    Term(LockHandle lock, ElectionRequest request, LeaderCallbacks callbacks, ScheduledExecutorService watch) {
        this.lock = lock;
        this.request = request;
        this.callbacks = callbacks;
        this.watch = watch;
    }

    /** Work of the leader. */
    interface Work<E extends Exception> {
        void run() throws E;
    }

    /** Calls the callbacks. Returns after the end of the term, when both have returned. */
    void lead() {
        Future<?> checks = beginToWatch();
        try {
            if (grant()) {
                awaitUninterruptibly(over);
                revoke();
                awaitUninterruptibly(revoked);
            }
        } finally {
            checks.cancel(false);
        }
    }

    /** Does the work, and ends the term. If the term ends meanwhile, or has ended before, the thread is interrupted. */
    <E extends Exception> void leadDuring(Work<E> work) throws E {
        Future<?> checks = beginToWatch();
        try {
            work(() -> {
                try {
                    work.run();
                } finally {
                    end(RevocationCause.RESIGNED);
                    revoke();
                }
            });
        } finally {
            checks.cancel(false);
        }
    }

    private Future<?> beginToWatch() {
        LockHandle unused = lock.onLost(lost -> check());
        long nanos = (request.isEndedWhenSuspect() ? SUSPICION_CHECK_PERIOD : CHECK_PERIOD).toNanos();
        return watch.scheduleWithFixedDelay(this::check, nanos, nanos, TimeUnit.NANOSECONDS);
    }

    /** Returns false if the term had already ended, so that no callback is needed. */
    private boolean grant() {
        if (isOver()) {
            return false;
        }
        try {
            work(() -> callbacks.onGranted(this));
        } catch (Throwable failed) {
            boolean isOfEnd = isOver();
            // Before anything else: as long as the term is not over, this node leads.
            end(RevocationCause.FAILED);
            if (isOfEnd) {
                LeaderLog.failedAtTheEnd(this, failed);
            } else {
                LeaderLog.callbackFailed("onGranted", this, failed);
            }
        }
        return true;
    }

    private <E extends Exception> void work(Work<E> work) throws E {
        LeaderLog.granted(this);
        beginWork();
        try {
            work.run();
        } finally {
            endWork();
        }
    }

    private synchronized void beginWork() {
        isWorking = true;
        if (cause != null) {
            interruptWork();
        }
    }

    private synchronized void endWork() {
        isWorking = false;
        if (isInterrupted) {
            // It comes from the end of the term, and would hit what this thread does next.
            boolean unused = Thread.interrupted();
        }
    }

    /** Ends the term, unless it has ended. The first cause counts. */
    synchronized void end(RevocationCause why) {
        if (cause != null) {
            return;
        }
        cause = why;
        over.countDown();
        if (isWorking) {
            if (leading == Thread.currentThread() && why == RevocationCause.RESIGNED) {
                expectReturn();
            } else {
                interruptWork();
            }
        }
    }

    private void interruptWork() {
        isInterrupted = true;
        leading.interrupt();
        expectReturn();
    }

    private void expectReturn() {
        var unused = watch.schedule(this::revokeIfStuck, PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
    }

    private void revokeIfStuck() {
        if (isWorking()) {
            revoke();
        }
    }

    private synchronized boolean isWorking() {
        return isWorking;
    }

    /** Calls {@code onRevoked}, unless another thread has begun to. */
    private void revoke() {
        if (!beginRevocation()) {
            return;
        }
        RevocationCause why = Objects.requireNonNull(cause);
        try {
            LeaderLog.revoked(this, why);
        } finally {
            tellRevoked(why);
        }
    }

    private void tellRevoked(RevocationCause why) {
        try {
            callbacks.onRevoked(this, why);
        } catch (Throwable failed) {
            LeaderLog.callbackFailed("onRevoked", this, failed);
        } finally {
            revoked.countDown();
        }
    }

    private synchronized boolean beginRevocation() {
        if (revoking != null) {
            return false;
        }
        revoking = Thread.currentThread();
        return true;
    }

    private void awaitUninterruptibly(CountDownLatch latch) {
        while (true) {
            try {
                latch.await();
                return;
            } catch (InterruptedException ofNobody) {
                LeaderLog.interrupted(name(), ofNobody);
            }
        }
    }

    /**
     * Whether the term may have ended by a forced release, so that no node can lead for the lease of a node from then on. A transaction that
     * notices it first cannot tell it from a takeover.
     */
    boolean mayBeForced() {
        return cause == RevocationCause.FORCED || cause == RevocationCause.TAKEN_OVER;
    }

    /** Whether the calling thread is in a callback or in the leader's work, so that it must not wait for the end of the term. */
    boolean isOfCurrentThread() {
        return leading == Thread.currentThread() || revoking == Thread.currentThread();
    }

    private void check() {
        if (cause != null) {
            return;
        }
        LockState state = lock.state();
        if (state == LockState.LOST) {
            end(lossCause());
        } else if (state == LockState.RELEASED) {
            // An exception has ended what this thread does for the term.
            end(RevocationCause.FAILED);
        } else if (state == LockState.SUSPECT && request.isEndedWhenSuspect()) {
            end(RevocationCause.SUSPECT);
        }
    }

    /** Reads the cause from the handle, without a statement: the handler of the loss may run after this check. */
    private RevocationCause lossCause() {
        try {
            lock.ensureValidFor(Duration.ZERO);
        } catch (LockLostException lost) {
            return RevocationCause.of(lost.lossCause());
        } catch (IllegalStateException released) {
            // The term has ended meanwhile, and keeps its cause.
            return RevocationCause.FAILED;
        }
        return RevocationCause.EXPIRED;
    }

    @Override
    public String name() {
        return lock.name();
    }

    @Override
    public long term() {
        return lock.fencingToken();
    }

    @Override
    public boolean isOver() {
        check();
        return cause != null;
    }

    @Override
    public Duration remaining() {
        return isOver() ? Duration.ZERO : lock.remaining();
    }

    @Override
    public void ensureValidFor(Duration duration) {
        checkNotLost();
        RevocationCause givenUp = cause;
        if (givenUp != null) {
            throw new IllegalStateException("This node no longer leads '" + name() + "': " + givenUp.why());
        }
        lock.ensureValidFor(duration);
    }

    @Override
    public void guard() {
        checkNotLost();
        lock.guard();
    }

    @Override
    public void guard(EntityManager entityManager) {
        checkNotLost();
        lock.guard(entityManager);
    }

    /** The handle of a lost lock is released soon. Then it would say that, and not why the lock was lost. */
    private void checkNotLost() {
        check();
        RevocationCause why = cause;
        if (why != null) {
            why.loss().ifPresent(loss -> {
                throw new LockLostException(name(), loss, loss.why());
            });
        }
    }

    @Override
    public String toString() {
        RevocationCause why = cause;
        return "Leadership[name=%s, term=%d, %s]".formatted(name(), term(), why == null ? "leading" : why);
    }
}
