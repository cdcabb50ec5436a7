package io.github.holdfast.service.engine;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A mark in the row of this service's node: threads of this node wait. Waiting threads write the mark, and their poller renews it. The
 * rows of a node's waiters count only while the mark lasts. It expires when the threads stop waiting or the node has died. It is no part of a
 * beat, and does not take the mutex of beats, so that it delays no beat. Thread-safe.
 */
final class WaitMark {

    private static final Logger LOG = LoggerFactory.getLogger(WaitMark.class);

    /** How long the mark lasts. A dead node's waiters count for this long. */
    private static final Duration LASTS = WaitTiming.POLL_PERIOD.multipliedBy(4);

    /** The mark is renewed when less than this is left of it: with the third look of the poller. */
    private static final Duration RENEWED =
            WaitTiming.POLL_PERIOD.multipliedBy(3).dividedBy(2);

    /** The time limit of a write. The writing thread does not attempt to acquire its lock meanwhile. */
    private static final Duration LIMIT = WaitTiming.POLL_PERIOD;

    private final LockStore store;
    private final Heartbeat heartbeat;
    private final Ticker ticker;
    private final ReentrantLock writing = new ReentrantLock();
    private volatile @Nullable Written last;

    /** No thread writes the mark before this local time. */
    private volatile long notBefore;

    /**
     * A mark that was written.
     *
     * @param at the local time before the write
     * @param bell the number by which others wake this node; null if it polls
     */
    private record Written(Node node, long at, @Nullable Long bell) {}

    WaitMark(LockStore store, Heartbeat heartbeat, Ticker ticker) {
        this.store = store;
        this.heartbeat = heartbeat;
        this.ticker = ticker;
        this.notBefore = ticker.nanoTime();
    }

    /**
     * Writes the mark if necessary, with one statement. Registers a node first if there is none.
     *
     * @param bell the number by which others wake this node; null if it polls
     * @return the marked node; null if the mark could not be written
     */
    @Nullable
    Node set(@Nullable Long bell, Duration atMost) {
        if (left(bell).compareTo(RENEWED) <= 0) {
            write(bell, atMost.compareTo(LIMIT) < 0 ? atMost : LIMIT);
        }
        Written written = last;
        return written != null && left(bell).compareTo(Duration.ZERO) > 0 ? written.node() : null;
    }

    private Duration left(@Nullable Long bell) {
        Written written = last;
        return written == null || written.node() != heartbeat.current() || !Objects.equals(written.bell(), bell)
                ? Duration.ZERO
                : LASTS.minusNanos(ticker.nanoTime() - written.at());
    }

    /**
     * Writes the mark; one thread writes it for all. After a failure, no thread writes it for a while, because the threads must
     * attempt to acquire their locks.
     */
    private void write(@Nullable Long bell, Duration atMost) {
        if (ticker.nanoTime() - notBefore < 0 || !writing.tryLock()) {
            return;
        }
        try {
            Node node = heartbeat.living(atMost);
            long now = ticker.nanoTime();
            if (store.inTransaction(atMost, () -> store.nodes().markWaiting(node.id(), LASTS, bell))) {
                last = new Written(node, now, bell);
                return;
            }
        } catch (StoreException failed) {
            LOG.debug("Could not tell other nodes that threads wait", failed);
        } finally {
            writing.unlock();
        }
        notBefore = ticker.nanoTime() + WaitTiming.POLL_PERIOD.toNanos();
    }
}
