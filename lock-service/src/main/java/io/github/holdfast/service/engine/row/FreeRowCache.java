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

    /** How this process knows a row. */
    public enum Origin {
        /** It has created the row. If a grant changes it, no owner has held the lock before. */
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

    private final Cache<String, String> unpredictable = names();

    /** The names whose rows other processes have changed since this one released their locks. */
    private final Cache<String, String> changedElsewhere = names();

    private static Cache<String, String> names() {
        return Caffeine.newBuilder()
                .maximumSize(MOST)
                .expireAfterWrite(UNPREDICTABLE)
                .executor(Runnable::run)
                .build();
    }

    /** Keeps a row as it was written by the release of its lock. */
    public void released(LockEntity free, long runsSince) {
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

    /** Notes that a row has changed since it was taken from here. */
    public void wasChanged(Row row) {
        String name = row.free().name();
        switch (row.origin()) {
            case EXPECTED -> unpredictable.put(name, name);
            case RELEASED -> changedElsewhere.put(name, name);
            case CREATED -> {}
        }
    }

    /** Notes that a row has not changed since it was taken from here. */
    public void wasUnchanged(Row row) {
        changedElsewhere.invalidate(row.free().name());
    }

    /** Whether other processes take turns with this one, so that a grant without a read would probably fail. */
    public boolean hasProbablyChanged(Row row) {
        return row.origin() == Origin.RELEASED
                && changedElsewhere.getIfPresent(row.free().name()) != null;
    }

    /** Removes and returns the row as it was last written, if it is cached. */
    public Optional<Row> take(String name) {
        return Optional.ofNullable(rows.asMap().remove(name));
    }
}
