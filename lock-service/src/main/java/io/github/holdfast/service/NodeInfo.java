package io.github.holdfast.service;

import io.github.holdfast.repository.NodeSnapshot;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One service that holds, or held, locks for as long as it lives.
 *
 * @param id never used again
 * @param description application, process and host, for people; null if it did not say
 * @param startedAt when it registered, by the database's clock
 * @param isAlive whether it keeps its locks
 * @param isStopped whether it was closed in good order. One that is neither alive nor stopped has died, or was taken for dead
 * @param expiresIn how long its lease has still to go, which its heartbeat renews; zero if it is over
 */
public record NodeInfo(
        String id,
        @Nullable String description,
        Instant startedAt,
        boolean isAlive,
        boolean isStopped,
        Duration expiresIn) {

    static NodeInfo of(NodeSnapshot seen) {
        return new NodeInfo(
                seen.node().id(),
                seen.node().description(),
                seen.node().startedAt(),
                seen.isAlive(),
                seen.node().isStopped(),
                seen.isAlive() ? seen.expiresIn() : Duration.ZERO);
    }
}
