package io.github.holdfast.repository;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.StringJoiner;

/**
 * A duration as people write it, for messages: {@code 10 s}, {@code 1 min 30 s}, {@code 45 ms}. Immutable.
 *
 * @param value the exact duration; may be negative
 */
public record ReadableDuration(Duration value) {

    private static final Duration LONG = Duration.ofSeconds(10);
    private static final Duration MILLISECOND = Duration.ofMillis(1);
    private static final long NANOS_OF_SECOND = 1_000_000_000;

    /**
     * Returns a measured duration, rounded down: from 10 seconds on to seconds, from 1 millisecond on to milliseconds, otherwise to
     * microseconds.
     */
    public static ReadableDuration about(Duration measured) {
        ChronoUnit unit = ChronoUnit.MICROS;
        if (measured.compareTo(LONG) >= 0) {
            unit = ChronoUnit.SECONDS;
        } else if (measured.compareTo(MILLISECOND) >= 0) {
            unit = ChronoUnit.MILLIS;
        }
        return new ReadableDuration(measured.truncatedTo(unit));
    }

    /** Returns the text, which does not depend on the language. */
    @Override
    public String toString() {
        if (value.isNegative()) {
            // The least of all durations has no opposite.
            return value.toSeconds() == Long.MIN_VALUE ? value.toString() : "-" + new ReadableDuration(value.negated());
        }
        StringJoiner text = new StringJoiner(" ").setEmptyValue("0 s");
        add(text, BigDecimal.valueOf(value.toDays()), "d");
        add(text, BigDecimal.valueOf(value.toHoursPart()), "h");
        add(text, BigDecimal.valueOf(value.toMinutesPart()), "min");
        if (value.toSeconds() > 0) {
            add(text, BigDecimal.valueOf(value.toSecondsPart() * NANOS_OF_SECOND + value.toNanosPart(), 9), "s");
        } else if (value.compareTo(MILLISECOND) >= 0) {
            add(text, BigDecimal.valueOf(value.toNanosPart(), 6), "ms");
        } else {
            add(text, BigDecimal.valueOf(value.toNanosPart(), 3), "µs");
        }
        return text.toString();
    }

    private static void add(StringJoiner text, BigDecimal number, String unit) {
        if (number.signum() > 0) {
            text.add(number.stripTrailingZeros().toPlainString() + " " + unit);
        }
    }
}
