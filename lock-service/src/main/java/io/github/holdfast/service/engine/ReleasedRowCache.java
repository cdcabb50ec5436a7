package io.github.holdfast.service.engine;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.entity.LockEntity;
import java.util.Optional;

/**
 * A cache of the rows that this process has released. If nobody has changed a row since, its lock is free, and can be granted
 * without a read. The grant is a compare-and-set of the version, and so verifies that. Thread-safe.
 */
final class ReleasedRowCache {

    /**
     * The largest number of rows. An application that uses each name once gains nothing from more. One that repeats its names
     * needs few.
     */
    private static final int MOST = 1000;

    /** @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait */
    record Row(LockEntity free, long runsSince) {}

    private final Cache<String, Row> rows =
            Caffeine.newBuilder().maximumSize(MOST).executor(Runnable::run).build();

    /** Keeps the row as it was written. */
    void put(LockEntity free, long runsSince) {
        rows.put(free.name(), new Row(free, runsSince));
    }

    /** Removes and returns the row as it was last written, if it is cached. */
    Optional<Row> take(String name) {
        return Optional.ofNullable(rows.asMap().remove(name));
    }
}
