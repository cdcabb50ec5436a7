package io.github.holdfast.service.engine;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A mark in the row of this service's node: threads of this node wait. Waiting threads write the mark. Nodes that release locks
 * read it. It expires when the threads stop waiting or the node has died. It is no part of a beat, and does not take the mutex of
 * beats, so that it delays no beat. Thread-safe.
 */
final class WaitMark {

    private static final Logger LOG = LoggerFactory.getLogger(WaitMark.class);

    /**
     * How long the mark lasts. Waiting threads renew it after half of this time. After the last wait, other nodes may send
     * useless notifications for this long.
     */
    private static final Duration LASTS = WaiterNotifier.LONGEST_PAUSE.multipliedBy(4);

    /** The time limit of a write. The writing thread does not attempt to acquire its lock meanwhile. */
    private static final Duration LIMIT = WaiterNotifier.LONGEST_PAUSE;

    private final LockStore store;
    private final Heartbeat heartbeat;
    private final Ticker ticker;
    private final ReentrantLock writing = new ReentrantLock();
    private volatile @Nullable Written last;

    /** No thread writes the mark before this local time. */
    private volatile long notBefore;

    /** @param at the local time before the mark was written */
    private record Written(Node node, long at) {}

    WaitMark(LockStore store, Heartbeat heartbeat, Ticker ticker) {
        this.store = store;
        this.heartbeat = heartbeat;
        this.ticker = ticker;
        this.notBefore = ticker.nanoTime();
    }

    /**
     * Whether the mark lasts longer than the next pause. Writes the mark if necessary, with one statement. Registers a node first
     * if there is none.
     */
    boolean isSet(Duration atMost) {
        if (left().compareTo(LASTS.dividedBy(2)) <= 0) {
            write(atMost.compareTo(LIMIT) < 0 ? atMost : LIMIT);
        }
        return left().compareTo(WaiterNotifier.LONGEST_PAUSE) > 0;
    }

    /** Whether another node has the mark; true if that could not be read. Needs one statement. */
    boolean isSetElsewhere() {
        Node own = heartbeat.current();
        String id = own == null ? "" : own.id();
        try {
            return Deadline.uninterruptibly(
                    ticker,
                    Duration.ZERO,
                    deadline -> store.inTransaction(
                            deadline.forOneStatement(), () -> store.nodes().isAnotherWaiting(id)));
        } catch (RuntimeException failed) {
            // After any failure, the lock must still be released.
            LOG.debug("Could not read whether threads of other nodes wait", failed);
            return true;
        }
    }

    private Duration left() {
        Written written = last;
        return written == null || written.node() != heartbeat.current()
                ? Duration.ZERO
                : LASTS.minusNanos(ticker.nanoTime() - written.at());
    }

    /**
     * Writes the mark; one thread writes it for all. After a failure, no thread writes it for a while, because the threads must
     * attempt to acquire their locks.
     */
    private void write(Duration atMost) {
        if (ticker.nanoTime() - notBefore < 0 || !writing.tryLock()) {
            return;
        }
        try {
            Node node = heartbeat.living(atMost);
            long now = ticker.nanoTime();
            if (store.inTransaction(atMost, () -> store.nodes().markWaiting(node.id(), LASTS))) {
                last = new Written(node, now);
                return;
            }
        } catch (StoreException failed) {
            LOG.debug("Could not tell other nodes that threads wait", failed);
        } finally {
            writing.unlock();
        }
        notBefore = ticker.nanoTime() + WaiterNotifier.LONGEST_PAUSE.toNanos();
    }
}
