package io.github.holdfast.benchmark.contestant;

import io.github.holdfast.lock.LockMode;
import java.time.Duration;
import java.util.Optional;

/** A read/write lock in one service of an application, with the service's connections and state. Thread-safe. */
public interface ReadWrite extends AutoCloseable {

    /**
     * Acquires the lock: shared for a reader, exclusive for a writer.
     *
     * @param atMost how long to wait
     * @return the lock; empty if it was not available in this time
     */
    Optional<Contestant.Held> acquire(LockMode mode, Duration atMost) throws Exception;

    @Override
    void close();
}
