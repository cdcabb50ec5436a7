package io.github.holdfast.service;

import io.github.holdfast.repository.StatementWatch;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Cancels statements that take too long. For a query timeout the drivers of PostgreSQL and MySQL wake a thread with each statement,
 * MySQL's one of each connection, and MariaDB's has the server set a variable: a tenth of an uncontended acquisition. Here one thread
 * looks twice a second while there are statements. Thread-safe.
 */
final class OverdueStatements implements StatementWatch, AutoCloseable {

    private static final Duration LOOK = Duration.ofMillis(500);

    /** When one that has not helped is tried again: it came before the statement was sent, or the server refused the connection. */
    private static final long AGAIN_NANOS = Duration.ofSeconds(5).toNanos();

    private final Ticker ticker;
    private final Set<Execution> running = ConcurrentHashMap.newKeySet();
    private final ScheduledThreadPoolExecutor watch;

    /** A driver connects to the server to cancel a statement, which may take long: none waits for another one's. */
    private final ThreadPoolExecutor cancellations;

    /** Whether somebody will look; changed under the lock of this. */
    private volatile boolean isWatched;

    private volatile boolean isClosed;

    OverdueStatements(Ticker ticker) {
        this.ticker = ticker;
        watch = new ScheduledThreadPoolExecutor(1, Daemons.named("holdfast-overdue"));
        watch.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        cancellations = new ThreadPoolExecutor(
                0,
                Integer.MAX_VALUE,
                1,
                TimeUnit.SECONDS,
                new SynchronousQueue<>(),
                Daemons.named("holdfast-cancellation"));
    }

    /** It is cancelled when it has taken as long as it may, or up to half a second later, and then about every five seconds. */
    @Override
    public @Nullable Watched begin(Runnable cancel, Duration atMost) {
        Execution execution = new Execution(cancel, ticker.nanoTime() + TimeUnit.NANOSECONDS.convert(atMost));
        running.add(execution);
        if (!isClosed && (isWatched || watchSoon())) {
            return execution;
        }
        execution.end();
        endThreadsIfDone();
        return null;
    }

    /** Has somebody look soon; returns false if there is no thread to be had. */
    private synchronized boolean watchSoon() {
        if (isWatched) {
            return true;
        }
        try {
            // Fails before anything is scheduled, which would stay so without a thread.
            watch.prestartCoreThread();
            Future<?> unused = watch.schedule(this::look, LOOK.toMillis(), TimeUnit.MILLISECONDS);
            isWatched = true;
            return true;
        } catch (RejectedExecutionException | OutOfMemoryError noThread) {
            return false;
        }
    }

    private void look() {
        synchronized (this) {
            isWatched = false;
        }
        if (isAnyRunning()) {
            watchSoon();
        }
        long now = ticker.nanoTime();
        running.forEach(execution -> execution.cancelIfOverdue(now));
        endThreadsIfDone();
    }

    /** Watches nothing more; but what is being executed is still cancelled when it has taken too long. */
    @Override
    public void close() {
        isClosed = true;
        endThreadsIfDone();
    }

    /** Nothing more is watched once it was seen closed, so what is asked after that does not change. */
    private void endThreadsIfDone() {
        if (isClosed && !isAnyRunning()) {
            watch.shutdown();
            cancellations.shutdown();
        }
    }

    /** {@code isEmpty} adds up counters that others change meanwhile. */
    private boolean isAnyRunning() {
        return running.iterator().hasNext();
    }

    /** A statement that is being executed. */
    private final class Execution implements Watched {

        private final Runnable cancel;
        private final AtomicBoolean isBeingCancelled = new AtomicBoolean();

        /** No monitor: up to Java 23, who waits for one keeps the carrier of a virtual thread, and a cancellation may take long. */
        private final ReentrantLock cancelling = new ReentrantLock();

        /** By the ticker; changed by who looks. */
        private long overdueAt;

        private boolean ended;

        Execution(Runnable cancel, long overdueAt) {
            this.cancel = cancel;
            this.overdueAt = overdueAt;
        }

        void cancelIfOverdue(long now) {
            if (now - overdueAt < 0 || !isBeingCancelled.compareAndSet(false, true)) {
                return;
            }
            try {
                cancellations.execute(this::cancel);
                overdueAt = now + AGAIN_NANOS;
            } catch (RejectedExecutionException | OutOfMemoryError noThread) {
                isBeingCancelled.set(false);
            }
        }

        private void cancel() {
            cancelling.lock();
            try {
                if (!ended) {
                    cancel.run();
                }
            } finally {
                isBeingCancelled.set(false);
                cancelling.unlock();
            }
        }

        @Override
        public void end() {
            running.remove(this);
            cancelling.lock();
            try {
                ended = true;
            } finally {
                cancelling.unlock();
            }
        }
    }
}
