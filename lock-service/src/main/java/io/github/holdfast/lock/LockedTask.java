package io.github.holdfast.lock;

import org.jspecify.annotations.Nullable;

/**
 * A task that runs under a lock and returns a result.
 *
 * @param <T> the result
 * @param <E> the exceptions that it throws
 */
@FunctionalInterface
public interface LockedTask<T extends @Nullable Object, E extends Exception> {

    /**
     * Runs the task.
     *
     * @param lock the handle of the lock that the task runs under
     * @throws E any exception of the task; the caller receives it unchanged
     */
    T call(LockHandle lock) throws E;
}
