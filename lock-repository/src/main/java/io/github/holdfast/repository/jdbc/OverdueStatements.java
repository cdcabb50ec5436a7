package io.github.holdfast.repository.jdbc;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Cancels statements that take too long. It replaces the drivers' query timeouts, which cost a tenth of an uncontended
 * acquisition. The drivers of PostgreSQL and MySQL wake a thread with each statement; MySQL's has one such thread per connection.
 * MariaDB's driver sets a variable on the server. Here, one thread checks twice a second while there are statements. Thread-safe.
 */
final class OverdueStatements implements AutoCloseable {

    private static final Duration CHECK_PERIOD = Duration.ofMillis(500);

    /**
     * When to repeat a cancellation without effect. It may have come before the statement was sent, or the server refused the
     * connection.
     */
    private static final long AGAIN_NANOS = Duration.ofSeconds(5).toNanos();

    private final LongSupplier clock;
    private final Set<Execution> running = ConcurrentHashMap.newKeySet();
    private final ScheduledThreadPoolExecutor watch;

    /**
     * To cancel a statement, a driver connects to the server, and that may take long. So no cancellation waits for another one.
     */
    private final ThreadPoolExecutor cancellations;

    /** Whether a check is scheduled. Changed only while synchronized on this object. */
    private volatile boolean isWatched;

    private volatile boolean isClosed;

    /** @param clock the local monotonic clock, in nanoseconds */
    OverdueStatements(LongSupplier clock) {
        this.clock = clock;
        watch = new ScheduledThreadPoolExecutor(1, daemons("holdfast-statement-timeout"));
        watch.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        cancellations = new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, 1, TimeUnit.SECONDS, new SynchronousQueue<>(), daemons("holdfast-cancellation"));
    }

    /** Creates daemon threads. They inherit neither thread-locals nor the class loader of the thread that starts them. */
    private static ThreadFactory daemons(String name) {
        return task -> {
            Thread thread = new Thread(null, task, name, 0, false);
            thread.setDaemon(true);
            thread.setContextClassLoader(OverdueStatements.class.getClassLoader());
            return thread;
        };
    }

    /**
     * Starts to watch a statement or commit, right before its execution. The watch cancels it when its time limit has passed, or
     * up to half a second later, and again about every five seconds.
     *
     * @param cancel sends the cancellation to the server, and then returns; called by other threads, one at a time
     * @param atMost the time until the cancellation
     * @return the execution, which the caller must end; null if nothing watches it
     */
    @Nullable
    Execution begin(Runnable cancel, Duration atMost) {
        Execution execution = new Execution(cancel, clock.getAsLong() + TimeUnit.NANOSECONDS.convert(atMost));
        running.add(execution);
        if (!isClosed && (isWatched || watchSoon())) {
            return execution;
        }
        execution.end();
        endThreadsIfDone();
        return null;
    }

    /** Schedules a check; returns false if no thread can be started. */
    private synchronized boolean watchSoon() {
        if (isWatched) {
            return true;
        }
        try {
            // Fails here if no thread can start. Otherwise a check could be scheduled that never runs.
            watch.prestartCoreThread();
            Future<?> unused = watch.schedule(this::cancelOverdue, CHECK_PERIOD.toMillis(), TimeUnit.MILLISECONDS);
            isWatched = true;
            return true;
        } catch (RejectedExecutionException | OutOfMemoryError noThread) {
            return false;
        }
    }

    private void cancelOverdue() {
        synchronized (this) {
            isWatched = false;
        }
        if (isAnyRunning()) {
            watchSoon();
        }
        long now = clock.getAsLong();
        running.forEach(execution -> execution.cancelIfOverdue(now));
        endThreadsIfDone();
    }

    /** Watches no further statements. Statements already under way are still cancelled when they take too long. */
    @Override
    public void close() {
        isClosed = true;
        endThreadsIfDone();
    }

    /** After the close no statement is added, so the result of this check stays valid. */
    private void endThreadsIfDone() {
        if (isClosed && !isAnyRunning()) {
            watch.shutdown();
            cancellations.shutdown();
        }
    }

    /** {@code isEmpty} is unreliable here: it adds up counters while other threads change them. */
    private boolean isAnyRunning() {
        return running.iterator().hasNext();
    }

    /** A statement that is being executed. */
    final class Execution {

        private final Runnable cancel;
        private final AtomicBoolean isBeingCancelled = new AtomicBoolean();

        /**
         * Not a monitor: up to Java 23, a virtual thread that waits for a monitor blocks its carrier thread. A cancellation may
         * take long.
         */
        private final ReentrantLock cancelling = new ReentrantLock();

        /** By the local clock; changed only by the checking thread. */
        private long overdueAt;

        private boolean ended;

        private Execution(Runnable cancel, long overdueAt) {
            this.cancel = cancel;
            this.overdueAt = overdueAt;
        }

        private void cancelIfOverdue(long now) {
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

        /**
         * Ends the watch, because the statement has ended. When this method returns, no cancellation is running, and none
         * follows. A late one would cancel the connection's next statement.
         */
        void end() {
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
