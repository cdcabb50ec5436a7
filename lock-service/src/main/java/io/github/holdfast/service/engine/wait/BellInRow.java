package io.github.holdfast.service.engine.wait;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The bell of this service in the row of its node, by which other services ask for locks that it keeps. A service whose threads wait has
 * it there anyway, with its mark. Thread-safe.
 */
final class BellInRow {

    private static final Logger LOG = LoggerFactory.getLogger(BellInRow.class);

    /** The time limit of a write, and the pause before another one. */
    private static final Duration LIMIT = Duration.ofSeconds(1);

    /** After this time, it is written again: a late mark of a waiter may have left another one. */
    private static final Duration REWRITTEN = Duration.ofSeconds(5);

    private final LockStore store;
    private final Heartbeat heartbeat;
    private final Ticker ticker;
    private volatile @Nullable Written last;

    /** No write begins before this local time. */
    private volatile long notBefore;

    /** A bell that was written, at this local time. */
    private record Written(Node node, long bell, long at) {}

    BellInRow(LockStore store, Heartbeat heartbeat, Ticker ticker) {
        this.store = store;
        this.heartbeat = heartbeat;
        this.ticker = ticker;
        this.notBefore = ticker.nanoTime();
    }

    /**
     * Has the bell written in the background if the row of the present node may not have it.
     *
     * @param bell null if this service polls
     * @return whether it was written
     */
    boolean ensureWritten(@Nullable Long bell, WaiterThread background) {
        Node node = heartbeat.current();
        if (bell == null || node == null) {
            return false;
        }
        Written written = last;
        boolean isWritten = written != null && written.node() == node && written.bell() == bell;
        long now = ticker.nanoTime();
        boolean isRecent = isWritten && written != null && now - written.at() < REWRITTEN.toNanos();
        if (!isRecent && now - notBefore >= 0) {
            notBefore = now + LIMIT.toNanos();
            background.hint(() -> write(node, bell));
        }
        return isWritten;
    }

    private void write(Node node, long bell) {
        try {
            if (store.inTransaction(LIMIT, () -> store.nodes().markListening(node.id(), bell))) {
                last = new Written(node, bell, ticker.nanoTime());
            }
        } catch (StoreException failed) {
            LOG.debug("The bell of this service was not written, so it keeps no locks for now", failed);
        }
    }
}
