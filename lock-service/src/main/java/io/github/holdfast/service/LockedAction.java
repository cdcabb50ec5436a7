package io.github.holdfast.service;

/**
 * What is to be done under a lock, without a result.
 *
 * @param <E> what it throws
 */
@FunctionalInterface
public interface LockedAction<E extends Exception> {

    /**
     * Does it.
     *
     * @param lock the handle under which it runs
     * @throws E as the action likes; it reaches the caller as it is
     */
    void run(LockHandle lock) throws E;
}
