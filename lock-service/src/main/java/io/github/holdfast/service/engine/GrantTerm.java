package io.github.holdfast.service.engine;

import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How long a new grant lasts, if nothing prolongs it.
 *
 * @param node the node through which it is held; null if it has a lease
 * @param validFrom the local time from which its lease, or the node's lease, counts
 * @param validFor how long that lease lasts from then
 * @param reconciliations the number of reconciliations that had begun before the attempt
 */
record GrantTerm(@Nullable Node node, long validFrom, Duration validFor, long reconciliations) {

    /**
     * The term of a grant that this process has just sent.
     *
     * @param lease null if the grant is held through the node
     * @param sentAt the local time before the statement was sent
     */
    static GrantTerm sent(@Nullable Node node, @Nullable Duration lease, long sentAt, long reconciliations) {
        Duration validFor =
                Objects.requireNonNull(node == null ? lease : node.lease(), "a grant has a node or a lease");
        return new GrantTerm(node, sentAt, validFor, reconciliations);
    }
}
