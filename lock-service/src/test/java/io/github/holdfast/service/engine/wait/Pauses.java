package io.github.holdfast.service.engine.wait;

import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;

/** What tests outside this package know of the pauses of waiting threads. */
public final class Pauses {

    /** The longest pause between two polls. */
    public static final Duration LONGEST = Deadline.LONGEST_PAUSE;

    private Pauses() {}
}
