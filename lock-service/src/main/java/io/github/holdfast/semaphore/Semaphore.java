package io.github.holdfast.semaphore;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LockedAction;
import io.github.holdfast.lock.LockedTask;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.share.PermitRequest;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A distributed semaphore: at most as many permits are held at a time, across all processes, as its limit says. Thread-safe.
 *
 * <pre>{@code
 * Semaphore exports = locks.semaphore(SemaphoreRequest.of("exports").limit(3));
 * try (LockHandle permit = exports.acquire()) {
 *     report.export();
 * }
 * }</pre>
 *
 * <p>The limit is stored in the database. Each acquisition gets a {@link LockHandle} and a row of its own. Permits end by their
 * release, with their lease, or with the process. A handle behaves like that of a lock: it reports a loss, can be renewed, and fences
 * transactions. A transaction under permits commits only while they are held. But other holders work at the same time, so a transaction
 * may miss what they commit.
 *
 * <p>Permits are not re-entrant. A thread that holds all permits and waits for another one waits for itself. Permits that were released
 * in a transaction stay held until it ends. If the same thread acquires the same number in that transaction, it gets these again, with
 * their fencing token and their lease, and without a statement. Another number needs permits that are left.
 */
public final class Semaphore {

    private final LockEngine engine;
    private final PermitRequest request;

    private Semaphore(LockEngine engine, PermitRequest request) {
        this.engine = engine;
        this.request = request;
    }

    /**
     * Creates a semaphore, for the lock service. Applications get one from {@link io.github.holdfast.service.LockService#semaphore}.
     *
     * @throws IllegalArgumentException if the request has no limit, or requests more permits than that
     */
    public static Semaphore of(LockEngine engine, SemaphoreRequest request) {
        return new Semaphore(engine, request.complete());
    }

    /** Returns the name of the semaphore. */
    public String name() {
        return request.lock().name();
    }

    /**
     * Acquires the permits if that many are left. It does not wait for a holder. Not interruptible.
     *
     * <p>It costs four statements in two transactions, and two statements if too few permits are left. Rows of dead holders cost one
     * statement each.
     *
     * @return the permits; empty if too few are left
     * @throws IllegalStateException if the service is closed, the name is that of a lock, or the request {@linkplain
     *     SemaphoreRequest#requireFence requires a fence} that the service cannot provide here
     * @throws LockStoreException if the database failed
     * @throws LockLostException if the lease ended before the database answered. Also if the current transaction has already lost
     *     permits of this semaphore
     */
    public Optional<LockHandle> tryAcquire() {
        return engine.tryAcquire(request);
    }

    /**
     * Acquires the permits. It waits for at most the wait time of the request ({@link LockRequest#DEFAULT_WAIT} if there is none).
     *
     * <p>Threads of this service get permits in order of arrival. There is no order between services, but a release of permits wakes
     * the service that has waited longest. The service also polls for all names that its threads wait for, more often where it cannot
     * be woken (on H2, for example; see {@link io.github.holdfast.service.LockServiceBuilder#withoutWakeUp}).
     *
     * @throws IllegalStateException as for {@link #tryAcquire}. Also if the service is closed during the call
     * @throws LockNotAcquiredException if too few permits were left until the wait time ended
     * @throws LockStoreException if the database refused the operation, or failed until the wait time ended
     * @throws LockLostException as for {@link #tryAcquire}
     * @throws InterruptedException if the thread is interrupted before it has the permits; none is held then
     */
    public LockHandle acquire() throws InterruptedException {
        return engine.acquire(request);
    }

    /**
     * Acquires the permits, runs the task under them, and releases them.
     *
     * @return the result of the task
     * @throws E the exception of the task; a loss of the permits is added to it as suppressed
     * @throws LockLostException if the task succeeded, but the permits were lost before the task ended, and no transaction has
     *     committed under them
     * @throws InterruptedException if the thread is interrupted before it has the permits
     * @see #acquire for the other exceptions of the acquisition
     */
    public <T extends @Nullable Object, E extends Exception> T call(LockedTask<T, E> task)
            throws E, InterruptedException {
        try (LockHandle permits = acquire()) {
            return task.call(permits);
        }
    }

    /**
     * Like {@link #call}, for a task without a result.
     *
     * @throws E the exception of the task
     * @throws InterruptedException if the thread is interrupted before it has the permits
     */
    public <E extends Exception> void run(LockedAction<E> action) throws E, InterruptedException {
        try (LockHandle permits = acquire()) {
            action.run(permits);
        }
    }
}
