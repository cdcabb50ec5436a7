package io.github.holdfast.service;

import io.github.holdfast.repository.rows.LockNodeRepository;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A node, which represents a service in the database. The service's locks without a lease last as long as its node lives.
 *
 * @param id the id; no other node ever gets it
 * @param description application, process and host, in readable form; null if the node gave none
 * @param startedAt the time of its registration, by the database's clock
 * @param isAlive whether the node keeps its locks, by the database's clock; where several servers write, by that of the server that
 *     was read
 * @param isStopped whether its service has ended it, or another one that had seen its heartbeats stop. A node that is neither alive nor
 *     stopped has died, or another service ended it by the database's clock
 * @param expiresIn the time left until its lease ends, unless a heartbeat renews it; zero if it has expired
 */
public record NodeInfo(
        String id,
        @Nullable String description,
        Instant startedAt,
        boolean isAlive,
        boolean isStopped,
        Duration expiresIn) {

    static NodeInfo of(LockNodeRepository.Snapshot seen) {
        return new NodeInfo(
                seen.node().id(),
                seen.node().description(),
                seen.node().startedAt(),
                seen.isAlive(),
                seen.node().isStopped(),
                seen.isAlive() ? seen.expiresIn() : Duration.ZERO);
    }
}
