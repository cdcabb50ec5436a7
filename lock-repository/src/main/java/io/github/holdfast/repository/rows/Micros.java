package io.github.holdfast.repository.rows;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Converts durations to microseconds for the database. */
public final class Micros {

    private Micros() {}

    /** Returns the microseconds, rounded up. The database must not consider a lease over before its holder does. */
    public static long of(Duration duration) {
        return duration.plusNanos(999).toNanos() / 1000;
    }

    /** Returns the same as {@link #of}; null for null. */
    static @Nullable Long orNull(@Nullable Duration duration) {
        return duration == null ? null : of(duration);
    }
}
