package io.github.holdfast.service.engine.node;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.node.Node.Timing;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the node of this service alive, and so all locks that are held through it. Each beat is one statement for any number of
 * locks. The first lock that needs a node registers it. A node whose lease has expired is ended, and never used again. Thread-safe.
 */
public final class Heartbeat implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Heartbeat.class);

    /** The number of beats between two reconciliations of the node's rows with its holds. */
    private static final int RECONCILE_EVERY = 6;

    private static final Duration END_LIMIT = Duration.ofSeconds(3);

    private static final String ENDED = "Node {} was ended: the locks held through it are lost";

    private static final String MISSING =
            "Node {} is not in the database of the heartbeat's connections: the locks held"
                    + " through it are lost. Either its row was deleted, or the data source selects a database per thread. In the"
                    + " latter case, build one LockService for each";

    private static final String COPIED =
            "Node {} belongs to another process too: both were restored from one image. The other"
                    + " process keeps the node, and the locks that this process held through it are lost. Make no image of a process"
                    + " while it holds locks";

    private final LockStore store;
    private final Timing timing;
    private final Ticker ticker;
    private final NodeHolds holds;
    private final NodeObserver observer;
    private final ListenerDispatcher listeners;
    private final String description;
    private final ScheduledExecutorService thread;

    private final ReentrantLock registering = new ReentrantLock();
    private final ReentrantLock beating = new ReentrantLock();
    private volatile @Nullable Node node;
    private volatile boolean closed;
    private boolean isTicking;

    /** The number of beats since the last reconciliation. */
    private int beatsSince;

    public Heartbeat(
            LockStore store,
            Timing timing,
            Ticker ticker,
            NodeHolds holds,
            NodeObserver observer,
            ListenerDispatcher listeners,
            String description) {
        this.store = store;
        this.timing = timing;
        this.ticker = ticker;
        this.holds = holds;
        this.observer = observer;
        this.listeners = listeners;
        this.description = description;
        thread = ticker.scheduler("holdfast-heartbeat");
    }

    /**
     * Returns the node for a new lock; registers a node if none is alive.
     *
     * @throws StoreException if the database failed
     * @throws IllegalStateException if the service is closed
     */
    public Node living(Duration atMost) {
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

    /** Waits for another thread's registration, but no longer than a call of the database may take. */
    private void awaitTurnToRegister(Duration atMost) {
        try {
            if (!registering.tryLock(atMost.toNanos(), TimeUnit.NANOSECONDS)) {
                throw StoreException.unanswered();
            }
        } catch (InterruptedException interrupted) {
            // An interruptible call notices the interrupt when it handles this failure.
            Thread.currentThread().interrupt();
            throw StoreException.unanswered();
        }
    }

    /** Returns the number of reconciliations that have begun. */
    public long reconciliations() {
        return holds.reconciliations();
    }

    /** See {@link NodeHolds#isQuietSince}. */
    public boolean isQuietSince(long reconciliations) {
        return holds.isQuietSince(reconciliations);
    }

    /** Returns the node; null if none was registered, or if the last one is known to be over. */
    @Nullable
    public Node current() {
        return node;
    }

    /** How long ago the last confirmed beat was sent; empty if there is no node. */
    public Optional<Duration> age() {
        return Optional.ofNullable(node).filter(current -> !current.isOver()).map(Node::sinceBeat);
    }

    /** The node's lease. A beat keeps the node's locks for this long, and so does a new grant until its first beat. */
    public Duration lease() {
        return timing.lease();
    }

    private Node register(Duration atMost) {
        checkOpen();
        // A new id each time: an unanswered registration may have created a node, which no service uses.
        String id = UUID.randomUUID().toString();
        Node registered = new Node(id, timing, ticker, ticker.nanoTime());
        observer.own(id);
        store.inTransaction(atMost, () -> {
            store.nodes().register(id, timing.lease(), description);
            return null;
        });
        node = registered;
        LogEvent.NODE_REGISTERED
                .in(LOG.atDebug())
                .addKeyValue(LogEvent.NODE, id)
                .log("Registered node {} with a lease of {}", id, new ReadableDuration(timing.lease()));
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

    /** Beats if a beat is due. The thread survives every failure, because locks depend on it. */
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
            observer.observeIfDue();
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
            if (closed) {
                // The application may have closed the persistence unit under a beat.
                LOG.debug("The last heartbeat failed", failed);
                return;
            }
            LogEvent.HEARTBEAT_FAILED.in(LOG.atError()).setCause(failed).log("The heartbeat failed, and is repeated");
        }
    }

    /**
     * Beats as soon as no other beat is under way. The result of the last beat may be out of date: the local clock may have stood
     * still, or the node's row may have changed. The beat runs on the heartbeat's thread, because the calling thread's
     * connections may lead to another database.
     */
    public void beatSoon() {
        Node current = node;
        if (current == null) {
            return;
        }
        current.demandBeat();
        try {
            thread.execute(this::tick);
        } catch (RejectedExecutionException closedMeanwhile) {
            LOG.debug("The heartbeat has stopped: the lock service is closed");
        }
    }

    /**
     * Beats at once, for a caller that needs the node to live longer.
     *
     * @return false if the node has expired
     * @throws StoreException if the database failed, or another beat had no answer, until the deadline
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    public boolean beatNow(Node wanted, Deadline deadline) throws InterruptedException {
        return deadline.repeat(() -> {
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

    /** Beats; the caller has locked {@link #beating}. Returns false if the node has expired. */
    private boolean beat(Node current) {
        boolean wasFailing = current.isFailing();
        long leaseMicros = LockNodeRepository.micros(timing.lease());
        long sentAt = current.beginBeat();
        int beaten = store.inTransaction(
                timing.period(),
                () -> store.nodes().beat(current.id(), current.version(), current.sentVersion(), leaseMicros));
        if (beaten == 0) {
            return missed(current);
        }
        if (!current.beaten(sentAt)) {
            return false;
        }
        Duration took = Duration.ofNanos(ticker.nanoTime() - sentAt);
        listeners.beaten(took);
        beatsSince++;
        if (wasFailing || beatsSince >= RECONCILE_EVERY) {
            beatsSince = 0;
            holds.reconcileLater(current);
        }
        return true;
    }

    /**
     * Handles a beat that found another version in the row. The node was ended, a lock was released by force, an earlier beat took
     * effect without an answer, or a copy of this process beats through the node. The copy then keeps the node, and this process gets a
     * new one. Holders must be notified of a loss before the next beat prolongs their holds.
     *
     * @return false, because the node has expired
     * @throws StoreException if the node lives, and the beat must be repeated
     */
    private boolean missed(Node current) {
        Optional<LockNodeRepository.Snapshot> seen =
                store.inTransaction(timing.period(), () -> store.nodes().read(current.id()));
        boolean isAlive = seen.isPresent() && !seen.get().node().isEnded();
        if (isAlive && current.mayBeOwn(seen.get().node().version())) {
            holds.reconcile(current);
            current.moveTo(seen.get().node().version());
            throw StoreException.overtaken();
        }
        if (!current.isOver()) {
            LogEvent.NODE_ENDED
                    .in(LOG.atWarn())
                    .addKeyValue(LogEvent.NODE, current.id())
                    .log(isAlive ? COPIED : seen.isPresent() ? ENDED : MISSING, current.id());
        }
        Runnable loss = holds.lossOf(current);
        current.end(LossCause.EXPIRED);
        loss.run();
        retire(current);
        return false;
    }

    /**
     * Ends a node that has expired by the local clock, so that its locks become free at once. If that fails, they become free at the
     * end of the node's lease. A node through which a copy of this process beats goes on.
     */
    private void retire(Node over) {
        over.end(over.cause());
        if (node == over) {
            node = null;
        }
        try {
            store.inTransaction(END_LIMIT, () -> store.nodes().stop(over.id(), over.version(), over.pendingVersion()));
        } catch (StoreException failed) {
            LOG.debug("Node {} could not be ended: its locks stay held until its lease ends", over.id(), failed);
        }
    }

    /** Ends the node. Its locks are free at once or, if the database does not answer, when its lease has expired. */
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
            var unused = Deadline.uninterruptibly(
                    ticker,
                    END_LIMIT,
                    deadline -> deadline.repeat(() -> store.inTransaction(
                            deadline.forOneStatement(),
                            () -> store.nodes().stop(last.id(), last.version(), last.pendingVersion()))));
        } catch (StoreException failed) {
            LogEvent.NODE_UNENDED
                    .in(LOG.atWarn())
                    .addKeyValue(LogEvent.NODE, last.id())
                    .log(
                            "The locks of node {} stay held until its lease of {} ends: {}",
                            last.id(),
                            new ReadableDuration(timing.lease()),
                            failed.getMessage());
        }
    }

    /** The heartbeat's view of the holds through its node. Thread-safe. */
    public interface NodeHolds {

        /** Returns how many reconciliations have begun. Each compares the node's rows with the holds. */
        long reconciliations();

        /** Whether no reconciliation has begun since this number had, and none is under way. */
        boolean isQuietSince(long reconciliations);

        /** Reconciles soon, on another thread. */
        void reconcileLater(Node node);

        /**
         * Reconciles now.
         *
         * @throws io.github.holdfast.repository.StoreException if the database failed, or a reconciliation is under way already
         */
        void reconcile(Node node);

        /**
         * Finds the valid holds of a node that is about to be ended.
         *
         * @return an action that reports all of them as lost
         */
        Runnable lossOf(Node node);
    }
}
