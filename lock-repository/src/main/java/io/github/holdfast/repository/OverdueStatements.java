package io.github.holdfast.repository;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Cancels statements that take too long. The drivers' {@link java.sql.Statement#setQueryTimeout} does too, but wakes another thread
 * with each statement, MySQL's one of each connection: a tenth of an uncontended acquisition. Here one thread looks twice a second
 * while there are statements, for all stores of this JVM, and ends when there have been none for a second. Thread-safe.
 */
final class OverdueStatements {

    private static final Logger LOG = LoggerFactory.getLogger(OverdueStatements.class);

    private static final Duration LOOK = Duration.ofMillis(500);
    private static final Duration IDLE = Duration.ofSeconds(1);

    private final Set<Execution> running = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean isWatched = new AtomicBoolean();
    private final ScheduledThreadPoolExecutor watch = new ScheduledThreadPoolExecutor(1, OverdueStatements::thread);

    OverdueStatements() {
        watch.setKeepAliveTime(IDLE.toMillis(), TimeUnit.MILLISECONDS);
        watch.allowCoreThreadTimeOut(true);
    }

    private static Thread thread(Runnable task) {
        Thread thread = new Thread(null, task, "holdfast-overdue", 0, false);
        thread.setDaemon(true);
        // It outlives the call that starts it, and must keep nothing of that: neither thread locals nor an application.
        thread.setContextClassLoader(OverdueStatements.class.getClassLoader());
        return thread;
    }

    /**
     * Executes an update, which is cancelled when it takes longer than it may, or up to half a second later.
     *
     * @throws SQLTimeoutException without a code if it was cancelled, or ended just then: whether it was done is open
     */
    int execute(PreparedStatement statement, Duration atMost) throws SQLException {
        Execution execution = new Execution(statement, System.nanoTime(), atMost);
        running.add(execution);
        watch();
        try {
            return statement.executeUpdate();
        } catch (SQLException failed) {
            throw execution.isCancelled() ? timedOut(failed) : failed;
        } finally {
            running.remove(execution);
            execution.end();
        }
    }

    /** As MySQL's driver says it of its own timeout: it tells neither there nor here whether the statement had ended before. */
    private static SQLTimeoutException timedOut(SQLException failed) {
        return new SQLTimeoutException("Cancelled, because it took too long", failed);
    }

    private void watch() {
        if (!isWatched.get() && isWatched.compareAndSet(false, true)) {
            Future<?> unused = watch.schedule(this::look, LOOK.toMillis(), TimeUnit.MILLISECONDS);
        }
    }

    private void look() {
        isWatched.set(false);
        if (!running.isEmpty()) {
            watch();
        }
        running.forEach(Execution::cancelIfOverdue);
    }

    /** A statement that is being executed. */
    private static final class Execution {

        private final PreparedStatement statement;
        private final long start;
        private final long limit;
        private boolean cancelled;
        private boolean ended;

        Execution(PreparedStatement statement, long start, Duration atMost) {
            this.statement = statement;
            this.start = start;
            this.limit = TimeUnit.NANOSECONDS.convert(atMost);
        }

        /** While it is cancelled it does not end: the connection's next statement would be hit. */
        synchronized void cancelIfOverdue() {
            if (ended || System.nanoTime() - start < limit) {
                return;
            }
            try {
                cancelled = true;
                statement.cancel();
            } catch (SQLException | RuntimeException failed) {
                LOG.debug("A statement could not be cancelled, which is tried again: {}", failed.getMessage());
            }
        }

        synchronized boolean isCancelled() {
            return cancelled;
        }

        synchronized void end() {
            ended = true;
        }
    }
}
