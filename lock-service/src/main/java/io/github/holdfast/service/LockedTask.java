package io.github.holdfast.service;

import org.jspecify.annotations.Nullable;

/**
 * What is to be done under a lock, with a result.
 *
 * @param <T> what it returns
 * @param <E> what it throws
 */
@FunctionalInterface
public interface LockedTask<T extends @Nullable Object, E extends Exception> {

    /**
     * Does it.
     *
     * @param lock the handle under which it runs
     * @throws E as the task likes; it reaches the caller as it is
     */
    T call(LockHandle lock) throws E;
}
