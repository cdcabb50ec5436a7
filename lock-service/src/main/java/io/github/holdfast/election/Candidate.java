package io.github.holdfast.election;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.GrantStep;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Waits for the lock of an election. One thread waits at a time. Any other thread may end that for good. */
final class Candidate {

    private final LockEngine engine;
    private final ElectionRequest request;
    private final CountDownLatch closing = new CountDownLatch(1);
    private @Nullable Thread waiting;

    Candidate(LockEngine engine, ElectionRequest request) {
        this.engine = engine;
        this.request = request;
    }

    /**
     * Waits until this node has the lock.
     *
     * @return empty if the candidacy was closed
     * @throws InterruptedException if the thread was interrupted for another reason
     */
    Optional<LockHandle> await() throws InterruptedException {
        while (begin()) {
            Optional<LockHandle> lock = attempt();
            if (lock.isPresent() && !isClosed()) {
                return lock;
            }
            lock.ifPresent(tooLate -> {
                ReleaseOutcome unused = tooLate.release();
            });
            pause(request.lookEvery().orElse(Duration.ZERO));
        }
        return Optional.empty();
    }

    private Optional<LockHandle> attempt() throws InterruptedException {
        Thread thread = Thread.currentThread();
        String usualName = thread.getName();
        try {
            thread.setName(request.threadName());
            LockRequest lock = request.lock();
            return request.lookEvery().isPresent()
                    ? engine.tryAcquire(lock, GrantStep.NONE).handle()
                    : Optional.of(engine.acquire(lock.waitForever()));
        } catch (InterruptedException | RuntimeException thrown) {
            if (isClosed()) {
                return Optional.empty();
            }
            throw thrown;
        } finally {
            thread.setName(usualName);
            end();
        }
    }

    /** Returns false if the candidacy was closed. */
    private synchronized boolean begin() {
        if (isClosed()) {
            // A later close must not interrupt what this thread does next.
            return false;
        }
        waiting = Thread.currentThread();
        return true;
    }

    private synchronized void end() {
        waiting = null;
        if (isClosed()) {
            // It comes from the close, and would hit what this thread does next.
            boolean unused = Thread.interrupted();
        }
    }

    private void pause(Duration atMost) throws InterruptedException {
        boolean unused = closing.await(atMost.toNanos(), TimeUnit.NANOSECONDS);
    }

    /** Lets this time pass, but ends with the candidacy. */
    void rest(Duration atMost) {
        try {
            pause(atMost);
        } catch (InterruptedException ofNobody) {
            LeaderLog.interrupted(request.name(), ofNobody);
        }
    }

    boolean isClosed() {
        return closing.getCount() == 0;
    }

    synchronized void close() {
        closing.countDown();
        if (waiting != null) {
            waiting.interrupt();
        }
    }
}
