package io.github.holdfast.quorum;

import java.time.Duration;

/**
 * How long a hold waits before it asks the missing members again. Each pause is twice as long as the one before.
 *
 * @param first the first pause
 * @param longest the longest one
 */
record HealingPauses(Duration first, Duration longest) {

    static final HealingPauses DEFAULT = new HealingPauses(Duration.ofSeconds(1), Duration.ofSeconds(30));

    Duration after(Duration pause) {
        Duration twice = pause.multipliedBy(2);
        return twice.compareTo(longest) < 0 ? twice : longest;
    }
}
