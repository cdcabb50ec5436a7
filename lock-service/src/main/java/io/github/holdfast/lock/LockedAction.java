package io.github.holdfast.lock;

/**
 * An action that runs under a lock, without a result.
 *
 * @param <E> the exceptions that it throws
 */
@FunctionalInterface
public interface LockedAction<E extends Exception> {

    /**
     * Runs the action.
     *
     * @param lock the handle of the lock that the action runs under
     * @throws E any exception of the action; the caller receives it unchanged
     */
    void run(LockHandle lock) throws E;
}
