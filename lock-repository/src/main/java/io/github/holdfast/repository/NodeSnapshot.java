package io.github.holdfast.repository;

import io.github.holdfast.entity.LockNode;
import java.time.Duration;
import java.time.Instant;

/**
 * A node as one statement saw it.
 *
 * @param node the node's row
 * @param dbNow the database's clock in that statement
 */
public record NodeSnapshot(LockNode node, Instant dbNow) {

    /** Whether the node keeps its locks: it was not ended, and its lease is not over. */
    public boolean isAlive() {
        return !node.isEnded() && node.expiresAt().isAfter(dbNow);
    }

    /** Returns how long the node's lease has still to go; zero if it is over. */
    public Duration expiresIn() {
        return node.expiresAt().isAfter(dbNow) ? Duration.between(dbNow, node.expiresAt()) : Duration.ZERO;
    }
}
