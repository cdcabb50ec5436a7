package io.github.holdfast.service.engine.runtime;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.service.engine.FakeTicker;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link Deadline#lock} on a lock that another thread has. */
class DeadlineLockTest {

    private final FakeTicker ticker = new FakeTicker();
    private final ReentrantLock lock = new ReentrantLock();
    private final ExecutorService holder = Executors.newSingleThreadExecutor();

    @BeforeEach
    void hold() throws Exception {
        holder.submit(lock::lock).get();
    }

    @AfterEach
    void end() {
        holder.shutdown();
    }

    /** A thread that waits for the lock, gives it back, and tells whether it had it and whether it is interrupted then. */
    private final class Waiting extends FutureTask<Waiting.Outcome> {

        record Outcome(boolean hadIt, boolean isInterrupted) {}

        private final Thread thread = new Thread(this);

        Waiting(Deadline.Work<Boolean> lock) {
            super(() -> new Outcome(lock.within(Deadline.interruptible(ticker, ZERO)), false));
        }

        Waiting() {
            super(() -> {
                boolean hadIt = Deadline.uninterruptibly(ticker, ZERO, DeadlineLockTest.this::isHad);
                return new Outcome(hadIt, Thread.interrupted());
            });
        }

        Waiting start() {
            thread.start();
            await().until(() -> lock.hasQueuedThread(thread));
            return this;
        }

        Outcome outcome() throws Exception {
            return get(20, TimeUnit.SECONDS);
        }
    }

    private boolean isHad(Deadline deadline) throws InterruptedException {
        boolean hadIt = deadline.lock(lock);
        if (hadIt) {
            lock.unlock();
        }
        return hadIt;
    }

    private void release() throws Exception {
        holder.submit(lock::unlock).get();
    }

    @Test
    void whoWaitsHasItWhenItIsGivenBack() throws Exception {
        Waiting waiting = new Waiting(this::isHad).start();
        release();
        assertThat(waiting.outcome().hadIt()).isTrue();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void whoHasNoMorePatienceHasItNot() throws Exception {
        Waiting waiting = new Waiting(this::isHad).start();
        ticker.advance(ofSeconds(3));
        assertThat(waiting.outcome().hadIt()).isFalse();
        release();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void whoIsInterruptedHasItNot() throws Exception {
        Waiting waiting = new Waiting(this::isHad).start();
        waiting.thread.interrupt();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(waiting::outcome)
                .withCauseInstanceOf(InterruptedException.class);
        release();
        assertThat(lock.isLocked()).isFalse();
    }

    @Test
    void whoIsNotToBeInterruptedHasItAndTheInterruptAfterwards() throws Exception {
        Waiting waiting = new Waiting().start();
        waiting.thread.interrupt();
        await().until(() -> !waiting.thread.isInterrupted() && lock.hasQueuedThread(waiting.thread));
        release();
        assertThat(waiting.outcome()).isEqualTo(new Waiting.Outcome(true, true));
    }
}
