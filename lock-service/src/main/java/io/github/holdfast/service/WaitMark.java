package io.github.holdfast.service;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the row of this service's node says to those who release locks: that threads of it wait. Those write it that wait, and
 * when they do no more, or the node has died, it ends by itself. It is no part of a heartbeat, and takes none of its locks: a
 * beat must not come late because of it. Thread-safe.
 */
final class WaitMark {

    private static final Logger LOG = LoggerFactory.getLogger(WaitMark.class);

    /** Renewed after half of it; as long as another node's releases may notify nobody. */
    private static final Duration LASTS = WakeUps.LONGEST_PAUSE.multipliedBy(4);

    /** Whoever writes it does not look for the lock meanwhile. */
    private static final Duration LIMIT = WakeUps.LONGEST_PAUSE;

    private final LockStore store;
    private final Heartbeat heartbeat;
    private final Ticker ticker;
    private final ReentrantLock writing = new ReentrantLock();
    private volatile @Nullable Written last;

    /** The local time before which it is not tried again. */
    private volatile long notBefore;

    /** @param at the local time before it was written */
    private record Written(Node node, long at) {}

    WaitMark(LockStore store, Heartbeat heartbeat, Ticker ticker) {
        this.store = store;
        this.heartbeat = heartbeat;
        this.ticker = ticker;
        this.notBefore = ticker.nanoTime();
    }

    /** Whether the row says so for longer than the next pause; writes it if necessary, one statement. */
    boolean isSet(Duration atMost) {
        if (left().compareTo(LASTS.dividedBy(2)) <= 0) {
            write(atMost.compareTo(LIMIT) < 0 ? atMost : LIMIT);
        }
        return left().compareTo(WakeUps.LONGEST_PAUSE) > 0;
    }

    /** Whether another node's row says so; also if that could not be asked. One statement. */
    boolean isSetElsewhere() {
        Node own = heartbeat.current();
        String id = own == null ? "" : own.id();
        try {
            return Patience.uninterruptibly(
                    ticker,
                    Duration.ZERO,
                    patience -> store.inTransaction(
                            patience.forOneStatement(), () -> store.nodes().isAnotherWaiting(id)));
        } catch (RuntimeException failed) {
            // Whatever it was, the lock is still to be given back.
            LOG.debug("Whether other nodes wait could not be asked", failed);
            return true;
        }
    }

    private Duration left() {
        Written written = last;
        return written == null || written.node() != heartbeat.current()
                ? Duration.ZERO
                : LASTS.minusNanos(ticker.nanoTime() - written.at());
    }

    /** One thread does it for all, and after a failure none for a while: they are here to look for their locks. */
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
            LOG.debug("Other nodes are not told that threads wait", failed);
        } finally {
            writing.unlock();
        }
        notBefore = ticker.nanoTime() + WakeUps.LONGEST_PAUSE.toNanos();
    }
}
