package io.github.holdfast.task;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LockedAction;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.AcquireResult;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Runs a task at most once per period across all processes. The task never runs twice at the same time, and never more often
 * than its {@link TaskRequest} allows. Each run is a row in {@code lock_run}; {@link io.github.holdfast.service.LockAdmin#runs}
 * lists the runs. Thread-safe.
 *
 * <pre>{@code
 * TaskLock hourly = locks.task(TaskRequest.of("price-report").every(Duration.ofHours(1)));
 * TaskOutcome outcome = hourly.runIfDue(lock -> report.write()); // called on all nodes, as often as you like
 * }</pre>
 *
 * <p>The transaction that grants the lock also records the run, so every run is recorded. If the process then dies,
 * housekeeping or the next run marks its run as {@link LockRun.Status#LOST}. The service keeps the lock for as long as the task
 * runs, unless the request has a lease.
 */
public final class TaskLock {

    private final LockEngine engine;
    private final TaskRequest request;

    private TaskLock(LockEngine engine, TaskRequest request) {
        this.engine = engine;
        this.request = request;
    }

    /**
     * Creates a task lock, for the lock service. Applications get one from {@link io.github.holdfast.service.LockService#task}.
     *
     * @throws IllegalArgumentException if the request has neither a period nor a minimum hold
     */
    public static TaskLock of(LockEngine engine, TaskRequest request) {
        return new TaskLock(engine, request.complete());
    }

    /** Returns the name of the task and its lock. */
    public String name() {
        return request.name();
    }

    /**
     * Runs the task if it is due and does not run anywhere. It never waits for a holder. Only the task itself is interruptible.
     * The cost is one statement if the lock is held, two if the task is not due, and six around a run.
     *
     * <p>Call this method outside transactions. Let the task begin and commit its own transactions: the next run sees their
     * effects.
     *
     * @param task the task. It receives the lock that it runs under, and must not release it
     * @return the outcome
     * @throws E the exception of the task; the run has then failed, or is lost
     * @throws IllegalStateException if the service is closed, or the thread is in a transaction
     * @throws LockLostException if the lock was lost before the task began. Also if the lock was lost before the task returned,
     *     and no transaction has committed under the lock; otherwise the outcome is {@link TaskOutcome#LOST}. The run is lost
     * @throws LockStoreException if the database failed before the task began
     */
    public <E extends Exception> TaskOutcome runIfDue(LockedAction<E> task) throws E {
        if (TransactionSynchronizationManager.isActualTransactionActive()) {
            throw new IllegalStateException("Task '" + name()
                    + "' cannot run inside a transaction, because its end would be recorded before the commit: call"
                    + " runIfDue outside, and let the task begin its transactions. After a commit, as in an AFTER_COMMIT"
                    + " listener, Spring still counts the transaction as active: run the task on another thread there");
        }
        RunStart start = new RunStart(engine.store().runs(), request);
        AcquireResult acquired = engine.tryAcquire(request.lock(), start);
        if (acquired.handle().isEmpty()) {
            return acquired.wasFree() ? TaskOutcome.NOT_DUE : TaskOutcome.HELD;
        }
        start.lost().ifPresent(run -> RunEnd.logLost(run.name(), run.fencingToken()));
        return run(acquired.handle().get(), task);
    }

    private <E extends Exception> TaskOutcome run(LockHandle lock, LockedAction<E> task) throws E {
        try {
            task.run(lock);
        } catch (Throwable thrown) {
            endFailed(lock, thrown);
            throw thrown;
        }
        return new RunEnd(engine, lock, null)
                .write()
                .map(status -> outcomeOf(status, lock))
                .orElse(TaskOutcome.UNRESOLVED);
    }

    /** The caller must see the exception of the task, even if recording the end of the run fails. */
    private void endFailed(LockHandle lock, Throwable thrown) {
        try {
            new RunEnd(engine, lock, thrown).write().ifPresent(status -> {
                ReleaseOutcome unused = lock.release();
            });
        } catch (RuntimeException | Error alsoFailed) {
            if (alsoFailed != thrown) {
                thrown.addSuppressed(alsoFailed);
            }
        }
    }

    private static TaskOutcome outcomeOf(LockRun.Status status, LockHandle lock) {
        if (status == LockRun.Status.SUCCEEDED) {
            ReleaseOutcome unused = lock.release();
            return TaskOutcome.SUCCEEDED;
        }
        lock.close();
        return TaskOutcome.LOST;
    }

    @Override
    public String toString() {
        return "TaskLock[" + request + "]";
    }
}
