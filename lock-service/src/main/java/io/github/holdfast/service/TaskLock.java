package io.github.holdfast.service;

import io.github.holdfast.entity.RunStatus;
import io.github.holdfast.service.Attempt.NotWanted;
import io.github.holdfast.service.Attempt.Refused;
import java.time.Duration;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Runs a task once in a while, whichever of all processes it is that does it: never twice at once, and no more often than its
 * {@link TaskRequest} says. Each run is a row in {@code lock_run}, which {@link LockAdmin#runs} shows. Thread-safe.
 *
 * <pre>{@code
 * TaskLock nightly = locks.task(TaskRequest.of("nightly-report").every(Duration.ofDays(1)));
 * TaskOutcome outcome = nightly.runIfDue(lock -> report.write()); // called on all nodes, as often as you like
 * }</pre>
 *
 * <p>The run is written down in the transaction that grants the lock: a process that dies afterwards leaves a run that counts as
 * {@link RunStatus#LOST} as soon as housekeeping or the next run sees it, and never a period of which nothing is known. The
 * lock is kept alive for as long as the task runs, unless the request has a lease.
 */
public final class TaskLock {

    private final Internals internals;
    private final LockService locks;
    private final TaskRequest request;

    TaskLock(Internals internals, LockService locks, TaskRequest request) {
        this.internals = internals;
        this.locks = locks;
        this.request = request;
    }

    /** Returns the name of the task and its lock. */
    public String name() {
        return request.name();
    }

    /**
     * Runs the task if it is due and nobody else is at it. Never waits for a holder, and is not interruptible itself. One statement if
     * the lock is held, two if the task is not due, six around a run.
     *
     * <p>Call it outside transactions; those that the task begins and commits itself are seen by the next run.
     *
     * @param task is given the lock it runs under, which it must not release
     * @return what became of it
     * @throws E what the task throws; the run has failed then, or is lost
     * @throws IllegalStateException if the service is closed, or the thread is in a transaction
     * @throws LockLostException if the task returned, but the lock was lost before, or was lost before the task began: the run
     *     is lost
     * @throws LockStoreException if the database failed before the task began
     */
    public <E extends Exception> TaskOutcome runIfDue(LockedAction<E> task) throws E {
        if (TransactionSynchronizationManager.isActualTransactionActive()) {
            throw new IllegalStateException("Task '" + name()
                    + "' is to run inside a transaction, so that its end would be written down before the commit: call"
                    + " runIfDue outside, and let the task begin its transactions");
        }
        RunStart start = new RunStart(internals.store().runs(), request);
        Acquired acquired = Patience.uninterruptibly(
                internals.ticker(), Duration.ZERO, patience -> locks.acquire(request.lock(), start, patience));
        if (acquired.handle().isEmpty()) {
            return skipped(acquired);
        }
        start.lost().ifPresent(run -> LockLog.runLost(run.name(), run.fencingToken()));
        return run(acquired.handle().get(), task);
    }

    private static TaskOutcome skipped(Acquired acquired) {
        boolean isFree = acquired.last() instanceof NotWanted
                || (acquired.last() instanceof Refused refused && !refused.isHeld());
        return isFree ? TaskOutcome.NOT_DUE : TaskOutcome.HELD;
    }

    private <E extends Exception> TaskOutcome run(LockHandle lock, LockedAction<E> task) throws E {
        try {
            task.run(lock);
        } catch (Throwable thrown) {
            endFailed(lock, thrown);
            throw thrown;
        }
        return new RunEnd(internals, lock, null)
                .write()
                .map(status -> told(status, lock))
                .orElse(TaskOutcome.UNRESOLVED);
    }

    /** What the task threw is what the caller is to see, whatever becomes of the rest. */
    private void endFailed(LockHandle lock, Throwable thrown) {
        try {
            new RunEnd(internals, lock, thrown).write().ifPresent(status -> {
                ReleaseOutcome unused = lock.release();
            });
        } catch (RuntimeException alsoFailed) {
            thrown.addSuppressed(alsoFailed);
        }
    }

    private static TaskOutcome told(RunStatus status, LockHandle lock) {
        if (status == RunStatus.SUCCEEDED) {
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
