package io.github.holdfast.service.engine;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.NodeRows;
import java.time.Duration;
import java.util.Optional;

/**
 * Makes a node notice that it has lost a lock or permits. The node lease of another service is not known here, and is assumed to be
 * the same. Thread-safe.
 */
final class HolderAlert {

    private final LockStore store;
    private final Duration nodeLease;

    HolderAlert(HoldContext context) {
        this.store = context.access().store();
        this.nodeLease = context.heartbeat().lease();
    }

    /**
     * Makes the next heartbeat of the node fail, so that the node checks what it holds. From then on, no heartbeat extends the node's
     * lease. But until the first heartbeat after it, a grant lasts for a whole node lease. Call it in a transaction that has locked the
     * row of the hold: a wait for that row must not block the node's heartbeat.
     *
     * @return how long the node may believe that it holds; empty if the node has no row
     */
    Optional<Duration> alert(String nodeId) {
        NodeRows nodes = store.nodes();
        nodes.alert(nodeId);
        return nodes.read(nodeId).map(node -> node.expiresIn().compareTo(nodeLease) > 0 ? node.expiresIn() : nodeLease);
    }
}
