package io.github.holdfast.service;

import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.LockTables.NodeRows;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.LockEngine;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Finds the nodes that wait for locks, as {@link LockAdmin#waitingNodes} returns them. The store only counts the nodes that wait for a
 * lock, with or without a given one. So that one waits if the count is smaller without it. For one thread.
 */
final class WaitingNodes {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    /** How often to look if the number of nodes changes meanwhile. */
    private static final int LOOKS = 3;

    private final LockEngine engine;

    /** The nodes that wait for anything; null if they have to be read. */
    private @Nullable List<NodeInfo> nodes;

    WaitingNodes(LockEngine engine) {
        this.engine = engine;
    }

    /**
     * Returns the nodes that wait for a lock, in the order of their ids.
     *
     * @param name a valid name
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    List<NodeInfo> of(String name) {
        engine.checkOpen();
        try {
            int count = count(name, "");
            List<NodeInfo> found = List.of();
            for (int look = 0; count > 0 && look < LOOKS; look++) {
                found = among(nodes(), name, count);
                int before = count;
                count = count(name, "");
                if (count == before) {
                    return found;
                }
                nodes = null;
            }
            return count == 0 ? List.of() : found;
        } catch (StoreException failed) {
            throw new LockStoreException(name, "could not be asked for those who wait", failed);
        }
    }

    private List<NodeInfo> among(List<NodeInfo> candidates, String name, int count) {
        return candidates.size() <= count
                ? candidates
                : candidates.stream()
                        .filter(node -> count(name, node.id()) < count)
                        .toList();
    }

    private int count(String name, String exceptNode) {
        return read(() -> engine.store().waiters(LIMIT).countOtherNodes(name, exceptNode));
    }

    private List<NodeInfo> nodes() {
        if (nodes == null) {
            nodes = waitingForAnything();
        }
        return nodes;
    }

    private List<NodeInfo> waitingForAnything() {
        List<NodeInfo> waiting = new ArrayList<>();
        String after = "";
        List<NodeRows.Snapshot> page;
        do {
            page = page(after);
            for (NodeRows.Snapshot seen : page) {
                after = seen.node().id();
                if (isWaiting(seen)) {
                    waiting.add(NodeInfo.of(seen));
                }
            }
        } while (page.size() == LockAdmin.MAX_PAGE_SIZE);
        return waiting;
    }

    private List<NodeRows.Snapshot> page(String after) {
        return read(() ->
                engine.store().inTransaction(LIMIT, () -> engine.store().nodes().page(after, LockAdmin.MAX_PAGE_SIZE)));
    }

    private static boolean isWaiting(NodeRows.Snapshot seen) {
        Instant until = seen.node().waitsUntil();
        return !seen.node().isEnded() && until != null && until.isAfter(seen.dbNow());
    }

    private <T> T read(Supplier<T> query) {
        return engine.untilDecided(LIMIT, query);
    }
}
