package io.github.holdfast.benchmark;

/** A lock over a database, with the connections and the state that one node of an application has. */
interface Contestant extends AutoCloseable {

    /** Waits until this node has the lock. */
    Held acquire(String name) throws Exception;

    @Override
    void close();

    /** What was acquired. */
    interface Held {
        void release() throws Exception;
    }
}
