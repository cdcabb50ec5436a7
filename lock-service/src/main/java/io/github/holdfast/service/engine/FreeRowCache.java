package io.github.holdfast.service.engine;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.entity.LockEntity;
import java.util.Optional;

/**
 * A cache of the rows of free locks, as this process released or created them. If nobody has changed a row since, its lock is
 * free, and can be granted without a read. The grant is a compare-and-set of the version, and so verifies that. Thread-safe.
 */
final class FreeRowCache {

    /**
     * The largest number of rows. An application that uses each name once gains nothing from more. One that repeats its names
     * needs few.
     */
    private static final int MOST = 1000;

    /**
     * A row of a free lock.
     *
     * @param isNew whether the row is as it was created. If a grant changes it, nobody has held the lock before
     * @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait
     */
    record Row(LockEntity free, boolean isNew, long runsSince) {}

    private final Cache<String, Row> rows =
            Caffeine.newBuilder().maximumSize(MOST).executor(Runnable::run).build();

    /** Keeps a row as it was written by the release of its lock. */
    void released(LockEntity free, long runsSince) {
        rows.put(free.name(), new Row(free, false, runsSince));
    }

    /** Keeps a row as it was created, unless a newer one is cached. */
    void created(LockEntity free, long now) {
        rows.asMap().putIfAbsent(free.name(), new Row(free, true, now));
    }

    /** Removes and returns the row as it was last written, if it is cached. */
    Optional<Row> take(String name) {
        return Optional.ofNullable(rows.asMap().remove(name));
    }
}
