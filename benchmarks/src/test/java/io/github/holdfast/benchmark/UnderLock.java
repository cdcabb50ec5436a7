package io.github.holdfast.benchmark;

/** How the nodes of one release work under their lock. The code of a page implements it. */
@FunctionalInterface
public interface UnderLock {

    /**
     * Runs the work under the lock.
     *
     * @return false if the lock is held, and this node does not wait for it
     * @throws Exception if the lock could not be acquired, or the work failed
     */
    boolean run(Runnable work) throws Exception;
}
