package io.github.holdfast.service.engine.wait;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.WaiterRows;
import io.github.holdfast.repository.rows.WaiterRows.Ticket;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One row per waiting thread. It shows other nodes the name of the lock, and since when the thread waits. Rows are hints about the order: a
 * failed write never fails an acquisition. Thread-safe.
 */
public final class WaiterTickets {

    private static final Logger LOG = LoggerFactory.getLogger(WaiterTickets.class);

    private static final Duration LIMIT = Waiter.POLL_PERIOD;

    /** One each second. After that, a service that finds the place at the head of the queue wakes this process, if it listens. */
    private static final int LATE_REMOVALS = 30;

    private final LockStore store;
    private final Heartbeat heartbeat;
    private final Background background;
    private final WaiterThread thread;
    private final Ticker ticker;
    private final Consumer<String> removed;

    /** The places that are taken, by their ids. */
    private final Map<String, Place> live = new ConcurrentHashMap<>();

    private final AtomicLong arrivals = new AtomicLong();

    private enum Order {
        NONE,
        OF_ARRIVAL
    }

    /**
     * Creates the tickets of a service.
     *
     * @param removed receives the name of the lock, after stray tickets of this process were removed
     */
    WaiterTickets(
            LockStore store,
            Heartbeat heartbeat,
            Background background,
            WaiterThread thread,
            Ticker ticker,
            Consumer<String> removed) {
        this.store = store;
        this.heartbeat = heartbeat;
        this.background = background;
        this.thread = thread;
        this.ticker = ticker;
        this.removed = removed;
    }

    /** One waiter's place in the order of the waiters of all nodes. The waiter's thread takes it, and others may hide it. */
    public final class Place {

        private final String name;
        private final WaitMode mode;
        private final Order order;
        private final long arrival = arrivals.incrementAndGet();
        private volatile @Nullable Ticket ticket;
        private volatile boolean isVisible;

        /** Whether an insert had no answer, and may still be executed. */
        private boolean isInsertInDoubt;

        private int timesTaken;

        private long noWakeUpBefore = ticker.nanoTime() + LIMIT.toNanos();

        /** When the place could not be taken, by local time; null if that has not happened. */
        private @Nullable Long failedAt;

        private Place(String name, WaitMode mode, Order order) {
            this.name = name;
            this.mode = mode;
            this.order = order;
        }

        String name() {
            return name;
        }

        boolean isFair() {
            return order == Order.OF_ARRIVAL;
        }

        /** Whether a place that was found to be the first is this one. If it is a stray one of this process, removes it soon. */
        public boolean isFirst(String firstId) {
            if (isOfThisProcess(firstId) && !live.containsKey(firstId)) {
                thread.execute(() -> {
                    store.waiters(LIMIT).removeStray(name, firstId);
                    removed.accept(name);
                });
            }
            Ticket mine = ticket;
            return mine != null && firstId.equals(mine.id());
        }

        /** Whether this place was taken earlier than the other one. A place that is not taken is behind all others. */
        boolean isBefore(Place other) {
            Ticket mine = ticket;
            Ticket theirs = other.ticket;
            return mine != null
                    && (theirs == null
                            || mine.since() < theirs.since()
                            || (mine.since() == theirs.since() && mine.id().compareTo(theirs.id()) < 0));
        }

        /**
         * Takes the place, if other nodes cannot see it yet, with one statement. Fair places of one process are in the order in which
         * they were created. The waiter keeps its place if its node is replaced. After a failure, it tries again a second later: the waiter
         * must attempt to acquire its lock.
         *
         * @param seenAt the database's clock, as the waiter has just seen it
         * @return whether other nodes can see the place
         */
        boolean take(Node node, Instant seenAt, Duration atMost) {
            Ticket earlier = ticket;
            boolean isOfNode = earlier != null && earlier.nodeId().equals(node.id());
            if ((isVisible && isOfNode) || hasJustFailed()) {
                return isVisible && isOfNode;
            }
            isVisible = false;
            String id = earlier != null && isOfNode ? earlier.id() : newId(node.id());
            Duration limit = atMost.compareTo(LIMIT) < 0 ? atMost : LIMIT;
            try {
                if (earlier != null && !isOfNode) {
                    store.waiters(limit).remove(earlier);
                }
                store.waiters(limit).add(placed(id, node, seenAt));
                isVisible = true;
                timesTaken++;
            } catch (StoreException failed) {
                if (failed.failure().isAmbiguous()) {
                    isInsertInDoubt = true;
                }
                LOG.debug("Could not show other nodes that a thread waits for lock '{}'", name, failed);
                failedAt = ticker.nanoTime();
            }
            return isVisible;
        }

        /** In the order of arrival. The rest is nothing that an image of the process contains: its copies would use the same ids. */
        private String newId(String nodeId) {
            return "%s:%011x%x".formatted(nodeId, arrival, UUID.randomUUID().getMostSignificantBits());
        }

        private Ticket placed(String id, Node node, Instant seenAt) {
            synchronized (live) {
                Ticket earlier = ticket;
                long since =
                        earlier == null ? inOrder(ChronoUnit.MICROS.between(Instant.EPOCH, seenAt)) : earlier.since();
                Ticket placed = new Ticket(name, since, id, node.id(), mode, isFair());
                if (earlier != null) {
                    live.remove(earlier.id());
                }
                ticket = placed;
                live.put(id, this);
                return placed;
            }
        }

        /**
         * Returns this time, or the nearest one that is not before the earlier fair requests of this process, nor after the later ones. Of
         * equal times, the ids decide.
         */
        private long inOrder(long micros) {
            if (!isFair()) {
                return micros;
            }
            long since = micros;
            for (Place other : live.values()) {
                Ticket theirs = other.ticket;
                if (theirs != null && other.isFair() && other.name.equals(name)) {
                    since = other.arrival < arrival ? Math.max(since, theirs.since()) : Math.min(since, theirs.since());
                }
            }
            return since;
        }

        private boolean hasJustFailed() {
            Long last = failedAt;
            return last != null && ticker.nanoTime() - last < LIMIT.toNanos();
        }

        /** How often the place was taken. For the waiter's thread. */
        int timesTaken() {
            return timesTaken;
        }

        /**
         * Returns whether another service may be woken now, even if needlessly: a second after the place was created, and then once a
         * second. For the waiter's thread.
         */
        public boolean claimWakeUp() {
            long now = ticker.nanoTime();
            if (now - noWakeUpBefore < 0) {
                return false;
            }
            noWakeUpBefore = now + LIMIT.toNanos();
            return true;
        }

        /** Notes that another thread may have removed the ticket. The waiter adds it again. */
        void hide() {
            isVisible = false;
        }

        /**
         * Leaves the place soon, in the background. A thread that was just granted the lock need not wait for that.
         *
         * @return whether others may have seen the place
         */
        boolean leaveSoon() {
            Ticket left = left();
            if (left == null) {
                return false;
            }
            if (thread.isClosed()) {
                remove(left);
            } else {
                thread.execute(() -> remove(left));
            }
            return true;
        }

        /** Leaves the place now, with one statement. Otherwise, others might still find it when the lock is released. */
        void leave() {
            Ticket left = left();
            if (left != null) {
                remove(left);
            }
        }

        private @Nullable Ticket left() {
            Ticket left = ticket;
            if (left != null) {
                ticket = null;
                isVisible = false;
                live.remove(left.id());
                if (isInsertInDoubt) {
                    removeLater(left, LATE_REMOVALS);
                }
            }
            return left;
        }
    }

    private boolean isOfThisProcess(String id) {
        Node own = heartbeat.current();
        return own != null && id.startsWith(own.id());
    }

    /** Removes a ticket again and again, because its insert may arrive late. A failure counts as one time. */
    private void removeLater(Ticket left, int times) {
        if (times > 0 && !thread.isClosed()) {
            background.later(() -> thread.hint(() -> {
                removeLater(left, times - 1);
                store.waiters(LIMIT).remove(left);
            }));
        }
    }

    /** A place that is not taken yet. */
    Place place(String name, WaitMode mode) {
        return new Place(name, mode, Order.NONE);
    }

    /** A place in the queue of the fair requests, which is not taken yet. */
    Place fairPlace(String name) {
        return new Place(name, WaitMode.EXCLUSIVE, Order.OF_ARRIVAL);
    }

    /** Removes a ticket, even if its insert had no answer. */
    private void remove(Ticket ticket) {
        try {
            store.waiters(LIMIT).remove(ticket);
        } catch (StoreException failed) {
            LOG.debug("Could not remove the place of a waiter for lock '{}'", ticket.name(), failed);
            if (failed.failure().isTransient()) {
                background.later(() -> thread.execute(() -> remove(ticket)));
            }
        }
    }

    /** Returns how many other nodes wait for the lock; 1 if that could not be read. Needs one statement. */
    int countOtherNodes(String name) {
        Node own = heartbeat.current();
        String id = own == null ? "" : own.id();
        try {
            return Deadline.untilDecided(
                    ticker, LIMIT, () -> store.waiters(LIMIT).countOtherNodes(name, id));
        } catch (RuntimeException failed) {
            // After any failure, the lock must still be released.
            LOG.debug("Could not read whether threads of other nodes wait", failed);
            return 1;
        }
    }

    /**
     * Removes tickets that no thread of this process has any more, because their insert arrived late. Otherwise releases would
     * wake this node in place of one that waits. Works in the background.
     *
     * @param isStray whether still no thread waits for the lock
     * @param otherwise called if a thread has come
     */
    void removeStray(String name, BooleanSupplier isStray, Runnable otherwise) {
        thread.execute(() -> {
            Node own = heartbeat.current();
            if (own != null && isStray.getAsBoolean()) {
                store.waiters(LIMIT).removeAll(name, own.id());
                removed.accept(name);
            } else {
                otherwise.run();
            }
        });
    }

    /**
     * A mark in the row of this service's node: threads of this node wait. Waiting threads write the mark, and their poller renews it. The
     * rows of a node's waiters count only while the mark lasts. It expires when the threads stop waiting or the node has died. It is no
     * part of a beat, and does not take the mutex of beats, so that it delays no beat. Thread-safe.
     */
    static final class Mark {

        private static final Logger LOG = LoggerFactory.getLogger(Mark.class);

        /** How long the mark lasts. A dead node's waiters count for this long. */
        private static final Duration LASTS = Waiter.POLL_PERIOD.multipliedBy(4);

        /** The mark is renewed when less than this is left of it: with the third poll of the poller. */
        private static final Duration RENEWED =
                Waiter.POLL_PERIOD.multipliedBy(3).dividedBy(2);

        /** The time limit of a write. The writing thread does not attempt to acquire its lock meanwhile. */
        private static final Duration LIMIT = Waiter.POLL_PERIOD;

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
         * @param since the local time since when the node has been marked with this bell, without a gap
         */
        private record Written(Node node, long at, @Nullable Long bell, long since) {}

        Mark(LockStore store, Heartbeat heartbeat, Ticker ticker) {
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

        /**
         * Whether the mark has stood for so long that each release sees it. Until then, others may not wake this node, because they do
         * not ask at each release.
         */
        boolean isNoticed() {
            Written written = last;
            return written != null && ticker.nanoTime() - written.since() >= WaiterRows.UNNOTICED.toNanos();
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
                    Written before = last;
                    last = new Written(
                            node,
                            now,
                            bell,
                            before != null && left(bell).compareTo(Duration.ZERO) > 0
                                    ? before.since()
                                    : ticker.nanoTime());
                    return;
                }
            } catch (StoreException failed) {
                LOG.debug("Could not show other nodes that threads wait", failed);
            } finally {
                writing.unlock();
            }
            notBefore = ticker.nanoTime() + Waiter.POLL_PERIOD.toNanos();
        }
    }
}
