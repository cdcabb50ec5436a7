package io.github.holdfast.faults;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The beginning or the end of an operation.
 *
 * @param operation the same for the beginning and the end
 * @param worker who does it; no worker has number 0
 * @param nanos the monotonic clock of the machine, which all processes share
 * @param wallMillis what the worker's wall clock shows, which may be wrong
 */
record Event(long operation, int worker, Action action, Phase phase, long nanos, long wallMillis, Facts facts) {

    private static final String NULL = "-";
    private static final int FIELDS = 15;

    /** One line of text; {@link #parse} reads it. */
    String line() {
        return String.join(
                " ",
                List.of(
                        String.valueOf(nanos),
                        String.valueOf(wallMillis),
                        String.valueOf(worker),
                        String.valueOf(operation),
                        action.name(),
                        phase.name(),
                        text(facts.name()),
                        text(facts.owner()),
                        text(facts.node()),
                        String.valueOf(facts.version()),
                        String.valueOf(facts.token()),
                        String.valueOf(facts.holds()),
                        String.valueOf(facts.databaseMicros()),
                        String.valueOf(facts.validUntil()),
                        String.valueOf(facts.value())));
    }

    /** An escaped text never is just the sign for null. */
    private static String text(@Nullable String text) {
        if (text == null) {
            return NULL;
        }
        return text.equals(NULL) ? "%2D" : URLEncoder.encode(text, StandardCharsets.UTF_8);
    }

    /**
     * Reads a line.
     *
     * @throws IllegalArgumentException if it is none
     */
    static Event parse(String line) {
        String[] fields = line.split(" ", -1);
        if (fields.length != FIELDS) {
            throw new IllegalArgumentException("Not an event: " + line);
        }
        String name = parsed(fields[6]);
        if (name == null) {
            throw new IllegalArgumentException("An event without a name: " + line);
        }
        Facts facts = new Facts(
                name,
                parsed(fields[7]),
                parsed(fields[8]),
                Long.parseLong(fields[9]),
                Long.parseLong(fields[10]),
                Long.parseLong(fields[11]),
                Long.parseLong(fields[12]),
                Long.parseLong(fields[13]),
                Long.parseLong(fields[14]));
        return new Event(
                Long.parseLong(fields[3]),
                Integer.parseInt(fields[2]),
                Action.valueOf(fields[4]),
                Phase.valueOf(fields[5]),
                Long.parseLong(fields[0]),
                Long.parseLong(fields[1]),
                facts);
    }

    private static @Nullable String parsed(String field) {
        return field.equals(NULL) ? null : URLDecoder.decode(field, StandardCharsets.UTF_8);
    }
}
