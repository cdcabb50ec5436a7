package io.github.holdfast.service.engine;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How long a new grant lasts, if nothing prolongs it.
 *
 * @param node the node through which it is held; null if it has a lease
 * @param validFrom the local time from which its lease, or the node's lease, counts
 * @param validFor how long that lease lasts from then
 * @param reconciliations the number of reconciliations that had begun before the attempt
 */
record GrantTerm(@Nullable Node node, long validFrom, Duration validFor, long reconciliations) {}
