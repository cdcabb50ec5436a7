package io.github.holdfast.service;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.entity.LockEntity;
import java.util.Optional;

/**
 * The rows as this process has left them. If nobody has changed such a row since, it is free, and can be granted without a look at it;
 * the grant, which compares the version, is what verifies that. Thread-safe.
 */
final class Remembered {

    /** An application that locks each of its orders once gains nothing by more, and one that repeats its names needs few. */
    private static final int MOST = 1000;

    /** @param runsSince since when others may have waited while the lock went from one thread here to the next; local time */
    record Row(LockEntity free, long runsSince) {}

    private final Cache<String, Row> rows =
            Caffeine.newBuilder().maximumSize(MOST).executor(Runnable::run).build();

    /** Notes how the row was written. */
    void put(LockEntity free, long runsSince) {
        rows.put(free.name(), new Row(free, runsSince));
    }

    /** Returns how the row was written last, if that is known, once. */
    Optional<Row> take(String name) {
        return Optional.ofNullable(rows.asMap().remove(name));
    }
}
