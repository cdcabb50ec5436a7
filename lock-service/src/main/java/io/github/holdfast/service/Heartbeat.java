package io.github.holdfast.service;

import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.NodeSnapshot;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the node of this service alive, and with it all locks that are held through it: one statement for each beat,
 * however many locks there are. The node is registered when it is first needed; one that is over is ended and never used
 * again. Thread-safe.
 */
final class Heartbeat implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Heartbeat.class);

    /** Every so many beats it is looked whether the rows of the node are those of its holders. */
    private static final int RECONCILE_EVERY = 6;

    private static final Duration END_LIMIT = Duration.ofSeconds(3);

    private final LockStore store;
    private final NodeTiming timing;
    private final Ticker ticker;
    private final Reconciliation reconciliation;
    private final Events events;
    private final String description;
    private final ScheduledExecutorService thread;

    private final ReentrantLock registering = new ReentrantLock();
    private final ReentrantLock beating = new ReentrantLock();
    private volatile @Nullable Node node;
    private volatile boolean closed;
    private boolean isTicking;

    /** How many beats ago the rows were looked at. */
    private int beatsSince;

    Heartbeat(
            LockStore store,
            NodeTiming timing,
            Ticker ticker,
            Reconciliation reconciliation,
            Events events,
            String description) {
        this.store = store;
        this.timing = timing;
        this.ticker = ticker;
        this.reconciliation = reconciliation;
        this.events = events;
        this.description = description;
        thread = new ScheduledThreadPoolExecutor(1, Daemons.named("holdfast-heartbeat"));
    }

    /**
     * Returns the node to hold a new lock through; registers one if there is none that lives.
     *
     * @throws StoreException if the database failed
     * @throws IllegalStateException if the service is closed
     */
    Node living(Duration atMost) {
        Node current = node;
        if (current != null && !current.isOver()) {
            return current;
        }
        awaitTurnToRegister(atMost);
        try {
            Node last = node;
            if (last != null && !last.isOver()) {
                return last;
            }
            if (last != null) {
                retire(last);
            }
            return register(atMost);
        } finally {
            registering.unlock();
        }
    }

    /** While the database does not answer, nobody waits longer for those who wait for it than for it. */
    private void awaitTurnToRegister(Duration atMost) {
        try {
            if (!registering.tryLock(atMost.toNanos(), TimeUnit.NANOSECONDS)) {
                throw StoreException.unanswered();
            }
        } catch (InterruptedException interrupted) {
            // Whoever is interruptible looks at that when the database has failed.
            Thread.currentThread().interrupt();
            throw StoreException.unanswered();
        }
    }

    /** Returns how many times the rows of the node have been compared with the holds. */
    long reconciliations() {
        return reconciliation.begun();
    }

    /** Returns the node if one was registered and is not known to be over. */
    @Nullable
    Node current() {
        return node;
    }

    /** How long ago the last confirmed beat was sent; empty if there is no node. */
    Optional<Duration> age() {
        return Optional.ofNullable(node).filter(current -> !current.isOver()).map(Node::sinceBeat);
    }

    /** For how long a beat, or a grant that no beat has followed yet, keeps what this service's node holds. */
    Duration lease() {
        return timing.lease();
    }

    private Node register(Duration atMost) {
        checkOpen();
        // A new id each time: one whose registration had no answer may be in use by nobody, but is never used.
        String id = UUID.randomUUID().toString();
        Node registered = new Node(id, timing, ticker, ticker.nanoTime());
        store.inTransaction(atMost, () -> {
            store.nodes().register(id, timing.lease(), description);
            return null;
        });
        node = registered;
        LogEvent.NODE_REGISTERED
                .in(LOG.atDebug())
                .addKeyValue(LogEvent.NODE, id)
                .log("Registered node {} with a lease of {}", id, timing.lease());
        try {
            tickFromNowOn();
            checkOpen();
        } catch (RejectedExecutionException | IllegalStateException closedMeanwhile) {
            retire(registered);
            throw new IllegalStateException("The lock service is closed", closedMeanwhile);
        }
        return registered;
    }

    private void tickFromNowOn() {
        if (!isTicking) {
            long tick = timing.tick().toNanos();
            var unused = thread.scheduleWithFixedDelay(this::tick, tick, tick, TimeUnit.NANOSECONDS);
            isTicking = true;
        }
    }

    private void checkOpen() {
        if (closed) {
            throw new IllegalStateException("The lock service is closed");
        }
    }

    /** Beats if it is time. Whatever goes wrong, it goes on: the thread must not end before its locks do. */
    private void tick() {
        try {
            Node current = node;
            if (current == null) {
                return;
            }
            if (current.isOver()) {
                retire(current);
            } else if (current.isBeatDue() && beating.tryLock()) {
                try {
                    var unused = beat(current);
                } finally {
                    beating.unlock();
                }
            }
        } catch (StoreException failed) {
            if (failed.failure().isUndecided()) {
                LOG.debug("The heartbeat is repeated", failed);
                return;
            }
            LogEvent.HEARTBEAT_FAILED
                    .in(LOG.atWarn())
                    .log("The heartbeat failed, and is repeated: {}", failed.getMessage());
            LOG.debug("The heartbeat failed", failed);
        } catch (Throwable failed) {
            LogEvent.HEARTBEAT_FAILED.in(LOG.atError()).setCause(failed).log("The heartbeat failed, and is repeated");
        }
    }

    /**
     * Beats as soon as no other beat is under way, because what the last one has told may no longer be so: the local clock may have
     * stood still, or the node's row is not as it should be. On the thread of the heartbeat, because the calling one's connections
     * may lead elsewhere.
     */
    void beatSoon() {
        Node current = node;
        if (current == null) {
            return;
        }
        current.demandBeat();
        try {
            thread.execute(this::tick);
        } catch (RejectedExecutionException closedMeanwhile) {
            LOG.debug("There is no heartbeat any more: the lock service is closed");
        }
    }

    /**
     * Beats at once, for one who needs the node to live for longer.
     *
     * @return false if the node is over
     * @throws StoreException if the database failed, or a beat that is under way had no answer, until the patience was over
     * @throws InterruptedException if the patience is interruptible and the thread was interrupted
     */
    boolean beatNow(Node wanted, Patience patience) throws InterruptedException {
        return patience.repeat(() -> {
            if (wanted.isOver()) {
                return false;
            }
            if (!beating.tryLock()) {
                throw StoreException.unanswered();
            }
            try {
                return beat(wanted);
            } finally {
                beating.unlock();
            }
        });
    }

    /** Beats; the caller has locked that. Returns false if the node is over. */
    private boolean beat(Node current) {
        boolean wasFailing = current.isFailing();
        long sentAt = current.beginBeat();
        boolean beaten = store.inTransaction(
                timing.period(), () -> store.nodes().beat(current.id(), current.version(), timing.lease()));
        if (!beaten) {
            return missed(current);
        }
        if (!current.beaten(sentAt)) {
            return false;
        }
        Duration took = Duration.ofNanos(ticker.nanoTime() - sentAt);
        events.beaten(took);
        beatsSince++;
        if (wasFailing || beatsSince >= RECONCILE_EVERY) {
            beatsSince = 0;
            reconciliation.later(current);
        }
        return true;
    }

    /**
     * The row has moved on: the node was ended, or a lock was released by force, or an earlier beat was confirmed without
     * an answer. Only after the holders have been told what happened may the next beat make them last.
     *
     * @return false, for the node is over
     * @throws StoreException if it lives, and the beat is to be repeated
     */
    private boolean missed(Node current) {
        Optional<NodeSnapshot> seen =
                store.inTransaction(timing.period(), () -> store.nodes().read(current.id()));
        if (seen.isPresent() && seen.get().isAlive()) {
            reconciliation.now(current);
            current.moveTo(seen.get().node().version());
            throw StoreException.overtaken();
        }
        if (!current.isOver()) {
            LogEvent.NODE_ENDED
                    .in(LOG.atWarn())
                    .addKeyValue(LogEvent.NODE, current.id())
                    .log(
                            seen.isPresent()
                                    ? "Node {} was ended: the locks held through it are lost"
                                    : "Node {} is not in the database that the heartbeat's connections lead to: the locks held through it"
                                            + " are lost. If the data source chooses a database by thread, build one LockService for each",
                            current.id());
        }
        List<Hold> holds = reconciliation.holds(current);
        current.end(LossCause.EXPIRED);
        holds.forEach(hold -> hold.lifetime().lose(LossCause.EXPIRED));
        retire(current);
        return false;
    }

    /** Ends a node that is over locally, so that its locks are free now. If that fails, they are when its lease is over. */
    private void retire(Node over) {
        over.end(over.cause());
        if (node == over) {
            node = null;
        }
        try {
            store.inTransaction(END_LIMIT, () -> store.nodes().end(over.id()));
        } catch (StoreException failed) {
            LOG.debug("Node {} was not ended; its lease is over", over.id(), failed);
        }
    }

    /** Ends the node: its locks are free at once, or if the database does not answer, when its lease is over. */
    @Override
    public void close() {
        closed = true;
        thread.shutdown();
        Node last = node;
        if (last == null) {
            return;
        }
        last.end(LossCause.SERVICE_CLOSED);
        try {
            var unused = Patience.uninterruptibly(
                    ticker,
                    END_LIMIT,
                    patience -> patience.repeat(() -> store.inTransaction(
                            patience.forOneStatement(), () -> store.nodes().stop(last.id()))));
        } catch (StoreException failed) {
            LogEvent.NODE_UNENDED
                    .in(LOG.atWarn())
                    .addKeyValue(LogEvent.NODE, last.id())
                    .log(
                            "The locks of node {} stay held until its lease of {} is over: {}",
                            last.id(),
                            timing.lease(),
                            failed.getMessage());
        }
    }
}
