package io.github.holdfast.service.engine.row;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.slf4j.spi.LoggingEventBuilder;

/**
 * Settles writes whose outcome is unknown: unanswered grants of threads that have stopped waiting, and failed releases. A
 * separate thread tries at once, and then every second until the write is settled. If the database refuses a write, the thread
 * tries it every half minute. Thread-safe.
 *
 * <p>A read of the row can prove that a write has happened, but never that it will not happen later. So this class makes
 * unanswered writes impossible: it changes the version on which they were based.
 */
public final class InDoubtWrites implements Background, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(InDoubtWrites.class);

    private static final Duration STATEMENT = Duration.ofSeconds(1);
    private static final Duration PAUSE = Duration.ofSeconds(1);

    /** The pause after a refusal. The database may accept the write after an operator has restored a privilege or a table. */
    private static final Duration PAUSE_AFTER_REFUSAL = Duration.ofSeconds(30);

    /** The number of deferred releases at a time, each with one connection. */
    private static final int RELEASERS = 4;

    /** A write of a lock's row, in a transaction of its own. It is repeated until it reports success. */
    private static final class Task {
        private final String name;
        private final Predicate<LockRows> work;
        private final IfInDoubt ifInDoubt;

        /** When the task was last refused, by local time; null if it never was. */
        private @Nullable Long refusedAt;

        Task(String name, Predicate<LockRows> work, IfInDoubt ifInDoubt) {
            this.name = name;
            this.work = work;
            this.ifInDoubt = ifInDoubt;
        }

        boolean isDue(long now) {
            return refusedAt == null || now - refusedAt >= PAUSE_AFTER_REFUSAL.toNanos();
        }
    }

    /**
     * A release that was deferred until a transaction ended. Several threads may finish it at the same time.
     *
     * @param name the name of the lock or the semaphore
     * @param work does the release, or waits for the thread that is doing it; has no effect afterwards
     */
    public record DueRelease(String name, Runnable work) {

        /** Does the release, and logs its exceptions. */
        public void finish() {
            logged(work);
        }
    }

    private enum IfInDoubt {
        REPEAT,
        LEAVE
    }

    private final LockStore store;
    private final Ticker ticker;
    private final Queue<Task> open = new ConcurrentLinkedQueue<>();
    private final Set<DueRelease> due = ConcurrentHashMap.newKeySet();
    private final ScheduledExecutorService thread;
    private final ThreadPoolExecutor releases;

    public InDoubtWrites(LockStore store, Ticker ticker) {
        this.store = store;
        this.ticker = ticker;
        thread = ticker.scheduler("holdfast-in-doubt");
        releases = new ThreadPoolExecutor(
                RELEASERS,
                RELEASERS,
                10,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                Background.threads("holdfast-release"));
        releases.allowCoreThreadTimeOut(true);
        Future<?> unused = thread.scheduleWithFixedDelay(
                this::settleDue, PAUSE.toMillis(), PAUSE.toMillis(), TimeUnit.MILLISECONDS);
    }

    /**
     * Frees the lock if this owner has it. Also makes later writes by the owner impossible, if they are based on this version.
     *
     * @param owner an owner that no other acquirer uses; null if the row must not be freed
     */
    public void abandon(String name, @Nullable String owner, long version) {
        settle(new Task(name, locks -> releaseOrSupersede(locks, name, owner, version), IfInDoubt.REPEAT));
    }

    private static boolean releaseOrSupersede(LockRows locks, String name, @Nullable String owner, long version) {
        Optional<LockSnapshot> seen = locks.read(name);
        if (seen.isEmpty()) {
            return true;
        }
        LockEntity row = seen.get().row();
        if (owner != null && owner.equals(row.owner())) {
            return locks.release(row, row.withHoldCount(0));
        }
        // If the row is free, an earlier release may have freed it. A failover could undo that release, until a later
        // write is answered.
        boolean isSettled = row.version() > version && row.owner() != null;
        return isSettled || locks.supersede(name, Math.max(row.version(), version));
    }

    /** Releases one hold of a grant. Other processes may use the same owner. */
    void giveBack(LockEntity grant) {
        settle(new Task(grant.name(), locks -> releaseGrant(locks, grant), IfInDoubt.LEAVE));
    }

    private static boolean releaseGrant(LockRows locks, LockEntity grant) {
        Optional<LockEntity> row =
                locks.read(grant.name()).map(LockSnapshot::row).filter(grant::isSameGrantAs);
        return row.isEmpty() || locks.release(row.get(), row.get().released());
    }

    /** Gives a share back that this owner may have, and makes later grants to it impossible that are based on this version. */
    public void abandonShare(String name, String owner, long version) {
        settleShares(name, permits -> {
            permits.supersede(name, version);
            permits.holder(name, owner).ifPresent(holder -> permits.release(holder.grant()));
        });
    }

    /** Gives the share of a grant back. */
    public void release(Grant granted) {
        settleShares(granted.name(), permits -> permits.release(granted));
    }

    /** Gives a share back whose holder does not know of it. */
    public void free(LockHolder orphan) {
        settleShares(orphan.name(), permits -> {
            if (permits.release(Grant.of(orphan))) {
                LogEvent.LOCK_FREED
                        .of(orphan.name(), LOG.atInfo())
                        .log(
                                "Lock or semaphore '{}' had a holder that no longer exists, and is freed of it",
                                orphan.name());
            }
        });
    }

    /** Settles writes that name a grant or its owner, so that they can be repeated. */
    private void settleShares(String name, Consumer<HolderRows> writes) {
        settle(new Task(
                name,
                locks -> {
                    writes.accept(store.permits());
                    return true;
                },
                IfInDoubt.REPEAT));
    }

    /** Frees a lock without a holder, unless its row has changed. */
    public void free(LockEntity orphan) {
        settle(new Task(
                orphan.name(),
                locks -> {
                    if (locks.release(orphan, orphan.withHoldCount(0))) {
                        LogEvent.LOCK_FREED
                                .of(orphan.name(), LOG.atInfo())
                                .log("Lock '{}' had no holder, and is freed", orphan.name());
                    }
                    return true;
                },
                IfInDoubt.LEAVE));
    }

    /** {@inheritDoc} It is done on the thread that settles writes. */
    @Override
    public void soon(Runnable work) {
        execute(thread, work);
    }

    @Override
    public void later(Runnable work) {
        execute(
                task -> {
                    Future<?> unused = thread.schedule(task, PAUSE.toMillis(), TimeUnit.MILLISECONDS);
                },
                work);
    }

    /** Does the release on a thread of its own, so that no other work delays it for long. If no thread can be started, on the usual one. */
    public void release(DueRelease release) {
        due.add(release);
        Runnable work = () -> {
            release.finish();
            due.remove(release);
        };
        try {
            execute(releases, work);
        } catch (OutOfMemoryError noThread) {
            execute(thread, work);
        }
    }

    /** Returns the releases of this name whose transactions have ended, and that are not finished. */
    public List<DueRelease> due(String name) {
        // Called by each attempt, and mostly there are none.
        return due.isEmpty()
                ? List.of()
                : due.stream().filter(release -> release.name().equals(name)).toList();
    }

    private static void logged(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException | Error failed) {
            LogEvent.INTERNAL_FAILED.in(LOG.atWarn()).setCause(failed).log("A background operation on locks failed");
        }
    }

    private static void execute(Executor executor, Runnable work) {
        try {
            executor.execute(() -> logged(work));
        } catch (RejectedExecutionException closed) {
            LOG.debug("A background operation was skipped: the lock service is closed");
        }
    }

    /** Hands the task to the thread, because the caller has waited for the database long enough. */
    private void settle(Task task) {
        open.add(task);
        try {
            thread.execute(this::settleDue);
        } catch (RejectedExecutionException closed) {
            LogEvent.LOCK_UNSETTLED
                    .of(task.name, LOG.atWarn())
                    .log(
                            "Lock '{}' may stay held until its lease or its node's lease ends: the lock service is"
                                    + " closed",
                            task.name);
        }
    }

    private void settleDue() {
        long now = ticker.nanoTime();
        attemptEach(task -> task.isDue(now));
    }

    /** Tries each of these tasks once, and stops if the database cannot be reached. Only one thread at a time may call this. */
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
            LOG.debug("A write of lock '{}' is still in doubt", task.name, failed);
            Failure failure = failed.failure();
            if (!failure.isTransient()) {
                return refused(task, LOG.atWarn(), failed);
            }
            if (failure.isOfConnection() || failure == Failure.READ_ONLY) {
                return Progress.NO_DATABASE;
            }
            return inDoubt(task, failure.isAmbiguous());
        } catch (RuntimeException failed) {
            return refused(task, LOG.atError().setCause(failed), failed);
        } catch (Error failed) {
            // The thread must survive for the other tasks. The error may have replaced the answer to a commit.
            Progress unused = refused(task, LOG.atError().setCause(failed), failed);
            return inDoubt(task, true);
        }
    }

    /** Logs only the first refusal of a task. */
    private Progress refused(Task task, LoggingEventBuilder log, Throwable failed) {
        if (task.refusedAt == null) {
            LogEvent.LOCK_UNSETTLED
                    .of(task.name, log)
                    .log(
                            "Lock '{}' may stay held until its lease ends, or the database accepts the write: {}",
                            task.name,
                            failed.getMessage());
        }
        task.refusedAt = ticker.nanoTime();
        return Progress.NOT_DONE;
    }

    private static Progress inDoubt(Task task, boolean isAmbiguous) {
        return isAmbiguous && task.ifInDoubt == IfInDoubt.LEAVE ? Progress.DONE : Progress.NOT_DONE;
    }

    /**
     * Tries once more, and stops. Locks that are still in doubt stay held until their lease ends. A task under way is not
     * repeated: a second release would end the hold of another owner.
     */
    @Override
    public void close() {
        releases.shutdown();
        thread.shutdown();
        if (Background.awaitEnd(thread, STATEMENT.multipliedBy(5))) {
            attemptEach(task -> true);
        }
    }
}
