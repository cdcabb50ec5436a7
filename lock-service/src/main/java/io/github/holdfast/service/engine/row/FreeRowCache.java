package io.github.holdfast.service.engine.row;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;

/**
 * A cache of the rows of free locks, as this process released or created them, or as it expects them after another process has
 * released its lock. If a row is still as it is here, its lock is free, and can be granted without a read. The grant is a
 * compare-and-set of the version, and so verifies that. Thread-safe.
 */
public final class FreeRowCache {

    /**
     * The largest number of rows. An application that uses each name once gains nothing from more. One that repeats its names
     * needs few.
     */
    private static final int MOST = 1000;

    /** How long nothing is expected of a row that was not as expected: more than one other process uses the lock. */
    private static final Duration UNPREDICTABLE = Duration.ofSeconds(10);

    /** By how much a grant and its release increase the version, if there is no other change. */
    private static final int GRANT_AND_RELEASE = 2;

    /** How this process knows a row. */
    public enum Origin {
        /** It has created the row. If a grant changes it, nobody has held the lock before. */
        CREATED,

        /** It has released the lock. */
        RELEASED,

        /** It has read the row while another process held the lock, and that process has released the lock since. */
        EXPECTED
    }

    /**
     * A row of a free lock.
     *
     * @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait
     */
    public record Row(LockEntity free, Origin origin, long runsSince) {}

    private final Cache<String, Row> rows =
            Caffeine.newBuilder().maximumSize(MOST).executor(Runnable::run).build();

    private final Cache<String, String> unpredictable = Caffeine.newBuilder()
            .maximumSize(MOST)
            .expireAfterWrite(UNPREDICTABLE)
            .executor(Runnable::run)
            .build();

    /**
     * The names whose rows other processes have changed since this one released their locks, with the version that it had written last. Such
     * a row is read first, because a grant without a read would probably be in vain.
     */
    private final Cache<String, Long> changedElsewhere = Caffeine.newBuilder()
            .maximumSize(MOST)
            .expireAfterWrite(UNPREDICTABLE)
            .executor(Runnable::run)
            .build();

    /** Keeps a row as it was written by the release of its lock. */
    public void released(LockEntity free, long runsSince) {
        Long last = changedElsewhere.getIfPresent(free.name());
        if (last != null && free.version() == last + GRANT_AND_RELEASE) {
            changedElsewhere.invalidate(free.name());
        }
        rows.put(free.name(), new Row(free, Origin.RELEASED, runsSince));
    }

    /** Keeps a row as it was created, unless a newer one is cached. */
    public void created(LockEntity free, long now) {
        rows.asMap().putIfAbsent(free.name(), new Row(free, Origin.CREATED, now));
    }

    /**
     * Keeps a row as its release must have written it, unless a newer one is cached.
     *
     * @param held the row as it was read while another process held the lock
     */
    public void expectReleased(LockEntity held, long now) {
        if (unpredictable.getIfPresent(held.name()) == null) {
            rows.asMap().putIfAbsent(held.name(), new Row(held.withHoldCount(0), Origin.EXPECTED, now));
        }
    }

    /** Notes that somebody has changed a row since it was taken from here. */
    public void wasChanged(Row row) {
        String name = row.free().name();
        switch (row.origin()) {
            case EXPECTED -> unpredictable.put(name, name);
            case RELEASED -> changedElsewhere.put(name, row.free().version());
            case CREATED -> {}
        }
    }

    /** Removes and returns the row as it was last written; empty if it is not cached, or has probably changed since. */
    public Optional<Row> take(String name) {
        Row row = rows.asMap().remove(name);
        if (row == null) {
            return Optional.empty();
        }
        if (row.origin() == Origin.RELEASED && changedElsewhere.getIfPresent(name) != null) {
            changedElsewhere.put(name, row.free().version());
            return Optional.empty();
        }
        return Optional.of(row);
    }
}
