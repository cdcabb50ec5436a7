package io.github.holdfast.faults;

import org.jspecify.annotations.Nullable;

/**
 * An operation from its beginning to its end.
 *
 * @param end null if its worker never told how it ended
 */
record Operation(Event begin, @Nullable Event end) {

    Action action() {
        return begin.action();
    }

    String name() {
        return begin.facts().name();
    }

    Phase outcome() {
        return end == null ? Phase.UNKNOWN : end.phase();
    }

    boolean is(Action wanted, Phase phase) {
        return action() == wanted && outcome() == phase;
    }

    /** What was known when it ended, or when it began if it did not. */
    Facts facts() {
        return end == null ? begin.facts() : end.facts();
    }

    /** When it ended; never, if that was not told. */
    long endNanos() {
        return end == null ? Long.MAX_VALUE : end.nanos();
    }

    @Override
    public String toString() {
        return begin.line() + (end == null ? "" : "\n      " + end.line());
    }
}
