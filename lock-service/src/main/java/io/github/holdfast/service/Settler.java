package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import java.time.Duration;
import java.util.Iterator;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Ends what the database left open: a grant whose commit was not answered and that nobody waits for any more, a release
 * that did not get through. A thread of its own tries at once, and then every second until the row says that it is done; while
 * the database refuses it, every half a minute. Thread-safe.
 *
 * <p>A look at the row can prove that a write has happened, never that it will not happen later; so an unanswered write
 * is made impossible, by moving the version on that it was decided on.
 */
final class Settler implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Settler.class);

    private static final Duration STATEMENT = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** What the database refuses, it may do when somebody has given it back a right or a table. */
    private static final Duration PAUSE_AFTER_REFUSAL = Duration.ofSeconds(30);

    /** How many releases after transactions are done at a time, each on a connection. */
    private static final int RELEASERS = 4;

    /** What is to be done with a lock's row, in a transaction of its own, until it answers that it is done. */
    private static final class Task {
        private final String name;
        private final Predicate<LockRepository> work;
        private final IfUnanswered ifUnanswered;

        /** When it was refused last, by local time; null if it never was. */
        private @Nullable Long refusedAt;

        Task(String name, Predicate<LockRepository> work, IfUnanswered ifUnanswered) {
            this.name = name;
            this.work = work;
            this.ifUnanswered = ifUnanswered;
        }

        boolean isDue(long now) {
            return refusedAt == null || now - refusedAt >= PAUSE_AFTER_REFUSAL.toNanos();
        }
    }

    private enum IfUnanswered {
        REPEAT,
        LEAVE
    }

    private final LockStore store;
    private final Ticker ticker;
    private final Queue<Task> open = new ConcurrentLinkedQueue<>();
    private final ScheduledExecutorService thread;
    private final ThreadPoolExecutor releases;

    Settler(LockStore store, Ticker ticker) {
        this.store = store;
        this.ticker = ticker;
        thread = Executors.newSingleThreadScheduledExecutor(Daemons.named("holdfast-settler"));
        releases = new ThreadPoolExecutor(
                RELEASERS,
                RELEASERS,
                10,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Daemons.named("holdfast-release"));
        releases.allowCoreThreadTimeOut(true);
        Future<?> unused = thread.scheduleWithFixedDelay(
                this::settleDue, PAUSE.toMillis(), PAUSE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /**
     * Frees the lock if this owner has it, and sees to it that no write of the owner that was decided on this version
     * can happen later.
     *
     * @param owner an owner that nobody else uses; null if the row must not be freed whoever has it
     */
    void abandon(String name, @Nullable String owner, long version) {
        settle(new Task(name, locks -> isAbandoned(locks, name, owner, version), IfUnanswered.REPEAT));
    }

    private static boolean isAbandoned(LockRepository locks, String name, @Nullable String owner, long version) {
        Optional<LockSnapshot> seen = locks.read(name);
        if (seen.isEmpty()) {
            return true;
        }
        LockEntity row = seen.get().row();
        if (owner != null && owner.equals(row.owner())) {
            return locks.release(row, row.heldTimes(0));
        }
        // If it is free, that may be an earlier release's doing which a failover would undo, unless a later write is
        // answered.
        boolean isSettled = row.version() != version && row.owner() != null;
        return isSettled || locks.supersede(name, row.version());
    }

    /** Gives back one hold of a grant whose owner other processes may use too. */
    void giveBack(LockEntity grant) {
        settle(new Task(grant.name(), locks -> isGivenBack(locks, grant), IfUnanswered.LEAVE));
    }

    private static boolean isGivenBack(LockRepository locks, LockEntity grant) {
        Optional<LockEntity> row =
                locks.read(grant.name()).map(LockSnapshot::row).filter(grant::isSameGrantAs);
        return row.isEmpty() || locks.release(row.get(), row.get().released());
    }

    /** Frees a lock that is held for nobody, if its row is still as it was seen. */
    void free(LockEntity orphan) {
        settle(new Task(
                orphan.name(),
                locks -> {
                    if (locks.release(orphan, orphan.heldTimes(0))) {
                        LogEvent.LOCK_FREED
                                .of(orphan.name(), LOG.atInfo())
                                .log("Lock '{}' was held for nobody, and is freed", orphan.name());
                    }
                    return true;
                },
                IfUnanswered.LEAVE));
    }

    /** Does something else on the same thread; what it throws is logged. */
    void soon(Runnable work) {
        execute(thread, work);
    }

    /** As {@link #soon}, after a pause. */
    void later(Runnable work) {
        execute(
                task -> {
                    Future<?> unused = thread.schedule(task, PAUSE.toMillis(), TimeUnit.MILLISECONDS);
                },
                work);
    }

    /** Does a release that waited for a transaction, on a thread where nothing else keeps it waiting for long. */
    void release(Runnable release) {
        execute(releases, release);
    }

    private static void execute(Executor executor, Runnable work) {
        try {
            executor.execute(() -> {
                try {
                    work.run();
                } catch (RuntimeException | Error failed) {
                    LogEvent.INTERNAL_FAILED
                            .in(LOG.atWarn())
                            .setCause(failed)
                            .log("Looking after locks in the background failed");
                }
            });
        } catch (RejectedExecutionException closed) {
            LOG.debug("Nothing is looked after any more: the lock service is closed");
        }
    }

    /** Hands the task to the thread: whoever called has waited for the database long enough. */
    private void settle(Task task) {
        open.add(task);
        try {
            thread.execute(this::settleDue);
        } catch (RejectedExecutionException closed) {
            LogEvent.LOCK_UNSETTLED
                    .of(task.name, LOG.atWarn())
                    .log(
                            "Lock '{}' may stay held until its lease or its node's is over: the lock service is closed",
                            task.name);
        }
    }

    private void settleDue() {
        long now = ticker.nanoTime();
        attemptEach(task -> task.isDue(now));
    }

    /** Tries each of these tasks once, on one thread at a time; while the database is away, the first one speaks for all. */
    private void attemptEach(Predicate<Task> which) {
        for (Iterator<Task> tasks = open.iterator(); tasks.hasNext(); ) {
            Task task = tasks.next();
            Progress progress = which.test(task) ? attempt(task) : Progress.NOT_DONE;
            if (progress == Progress.NO_DATABASE) {
                return;
            }
            if (progress == Progress.DONE) {
                tasks.remove();
            }
        }
    }

    private enum Progress {
        DONE,
        NOT_DONE,
        NO_DATABASE
    }

    private Progress attempt(Task task) {
        try {
            return store.inTransaction(STATEMENT, task.work::test) ? Progress.DONE : Progress.NOT_DONE;
        } catch (StoreException failed) {
            LOG.debug("Lock '{}' is not settled yet", task.name, failed);
            Failure failure = failed.failure();
            if (!failure.isTransient()) {
                return refused(task, LOG.atWarn(), failed);
            }
            if (failure.isOfConnection() || failure == Failure.READ_ONLY) {
                return Progress.NO_DATABASE;
            }
            return unanswered(task, failure.isAmbiguous());
        } catch (RuntimeException failed) {
            return refused(task, LOG.atError().setCause(failed), failed);
        } catch (Error failed) {
            // The thread must live on for the other tasks. The error may have come with the answer of a commit.
            Progress unused = refused(task, LOG.atError().setCause(failed), failed);
            return unanswered(task, true);
        }
    }

    /** Told when it begins, and not each time. */
    private Progress refused(Task task, LoggingEventBuilder log, Throwable failed) {
        if (task.refusedAt == null) {
            LogEvent.LOCK_UNSETTLED
                    .of(task.name, log)
                    .log(
                            "Lock '{}' may stay held until its lease is over, or this is no longer refused: {}",
                            task.name,
                            failed.getMessage());
        }
        task.refusedAt = ticker.nanoTime();
        return Progress.NOT_DONE;
    }

    private static Progress unanswered(Task task, boolean isAmbiguous) {
        return isAmbiguous && task.ifUnanswered == IfUnanswered.LEAVE ? Progress.DONE : Progress.NOT_DONE;
    }

    /**
     * Tries a last time, and stops. What is open then ends with its lease. A task that is under way is not repeated: given
     * back twice, a hold of somebody else would be lost.
     */
    @Override
    public void close() {
        releases.shutdown();
        thread.shutdown();
        try {
            if (thread.awaitTermination(STATEMENT.multipliedBy(5).toMillis(), TimeUnit.MILLISECONDS)) {
                attemptEach(task -> true);
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
