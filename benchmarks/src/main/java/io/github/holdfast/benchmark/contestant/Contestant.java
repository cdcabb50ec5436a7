package io.github.holdfast.benchmark.contestant;

/** A lock library on one node of an application, with its connections and its state. */
public interface Contestant extends AutoCloseable {

    /**
     * Acquires a lock; waits until it is free.
     *
     * @throws java.util.concurrent.TimeoutException if that took too long
     */
    Held acquire(String name) throws Exception;

    @Override
    void close();

    /** An acquired lock. */
    interface Held {
        void release() throws Exception;
    }
}
