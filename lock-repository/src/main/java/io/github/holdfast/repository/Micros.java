package io.github.holdfast.repository;

import java.time.Duration;

/** Durations as the database gets them. */
final class Micros {

    private Micros() {}

    /** Rounds up: the database must not think a lease over before its holder does. */
    static long of(Duration duration) {
        return duration.plusNanos(999).toNanos() / 1000;
    }
}
