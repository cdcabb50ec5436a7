package io.github.holdfast.service.engine.wait;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.ServiceSettings.WakeUp;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.Waiter.Registry;
import io.github.holdfast.service.engine.wait.WaiterTickets.Mark;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Announces waiting threads to other nodes, and wakes them when another node releases their lock. Every node announces its
 * waiting threads, but only a node that listens is woken. Wake-ups are only hints: {@link WaiterPoller} finds a release that they
 * missed. While this node does not listen, the poller polls more often. Thread-safe.
 */
public final class WaiterNotifier implements Waiter.Announcer, NotificationListener.Audience, AutoCloseable {

    /**
     * How long the number of others is remembered: for longer than a node waits for its turn. If it is out of date, the next run is
     * too short or too long, and then the others are counted again.
     */
    private static final Duration OTHERS_REMEMBERED = Duration.ofSeconds(30);

    private static final int MOST_NAMES = 1000;

    private final @Nullable WakeUpChannel channel;
    private final @Nullable NotificationListener receiver;
    private final Mark mark;
    private final WaiterThread thread;
    private final WaiterTickets tickets;
    private final Registry waiters = new Registry();
    private final WaiterPoller poller;

    private final BellInRow bellInRow;
    private volatile Keeper keeper = Keeper.OF_NOTHING;

    /** The node that was marked as waiting the last time; null if there was none. */
    private volatile @Nullable Node marked;

    /** Whether the next call of {@link #woken} must read which locks are free. */
    private volatile boolean mustReread;

    /** Whether the service is being closed. Then each waiter attempts again and again, so that it notices. */
    private volatile boolean isClosing;

    /** The names that another node has waited for within the last seconds. */
    private final Cache<String, String> awaitedElsewhere = byName(Waiter.POLL_PERIOD.multipliedBy(2));

    /** How many others wait for a lock, as last counted; at least 1. */
    private final Cache<String, Integer> others = byName(OTHERS_REMEMBERED);

    /**
     * Creates a notifier. It begins to listen when a thread has waited for long for the first time.
     *
     * @param channel the channel of wake-ups; null if the database has none
     * @param thread the thread on which the channel wakes others; closed with the notifier
     * @param settings say whether to listen. Without listening, it still wakes others
     */
    public WaiterNotifier(
            @Nullable WakeUpChannel channel,
            WaiterThread thread,
            ServiceSettings settings,
            LockStore store,
            Heartbeat heartbeat,
            Background background,
            LocalQueue queue) {
        Ticker ticker = settings.ticker();
        this.channel = channel;
        this.thread = thread;
        this.receiver = channel != null && settings.wakeUp() == WakeUp.WHERE_POSSIBLE && store.canListen()
                ? new NotificationListener(channel, this)
                : null;
        this.bellInRow = new BellInRow(store, heartbeat, ticker);
        this.mark = new Mark(store, heartbeat, ticker);
        this.tickets = new WaiterTickets(store, heartbeat, background, thread, ticker, this::strayRemoved);
        this.poller = new WaiterPoller(waiters, this::keepAnnounced, store, queue, settings.clockTolerance(), ticker);
    }

    private static <V> Cache<String, V> byName(Duration remembered) {
        return Caffeine.newBuilder()
                .maximumSize(MOST_NAMES)
                .expireAfterWrite(remembered)
                .executor(Runnable::run)
                .build();
    }

    /** What keeps locks that this service has released, and gives them back when another service asks. */
    public interface Keeper {

        Keeper OF_NOTHING = new Keeper() {
            @Override
            public boolean recalled(String name) {
                return false;
            }

            @Override
            public void recalledAny() {}
        };

        /** Notes that another service may request this lock. Returns whether it was kept, and will be free soon. */
        boolean recalled(String name);

        /** Notes that another service may request any of the locks. */
        void recalledAny();
    }

    /** Sets the keeper of the locks that this service has released. */
    public void keeper(Keeper other) {
        keeper = other;
    }

    /** Begins to listen, and has the bell written into the row of the node. Returns whether other services can ask this one for a lock. */
    public boolean ensureRecallable() {
        WakeUpChannel listened = channel;
        if (receiver == null || listened == null || isClosing) {
            return false;
        }
        receiver.startOnce();
        return receiver.isListening() && bellInRow.ensureWritten(listened.bell(), thread);
    }

    /** Asks the service of another node for a lock, in the background. */
    public void recall(String name, String nodeId) {
        WakeUpChannel asking = channel;
        if (asking != null) {
            thread.hint(() -> asking.recall(name, nodeId));
        }
    }

    /** See {@link WaiterTickets#place}. */
    public WaiterTickets.Place place(String name, WaitMode mode) {
        return tickets.place(name, mode);
    }

    /** See {@link WaiterTickets#fairPlace}. */
    public WaiterTickets.Place fairPlace(String name) {
        return tickets.fairPlace(name);
    }

    /** The waiter of the calling thread, which is about to acquire this lock. */
    public Waiter waiter(WaiterTickets.Place place) {
        return new Waiter(this, place);
    }

    @Override
    public boolean announce(Waiter waiter, Instant seenAt, Duration atMost) {
        waiters.add(waiter);
        if (isClosing) {
            return false;
        }
        if (receiver != null) {
            receiver.startOnce();
        }
        Node node = mark.set(bell(), atMost);
        if (node == null || !waiter.place().take(node, seenAt, atMost)) {
            return false;
        }
        return poller.start();
    }

    private @Nullable Long bell() {
        return channel == null ? null : channel.bell();
    }

    @Override
    public boolean isPollerLate() {
        return poller.isLate();
    }

    /**
     * Keeps the waiters announced, mostly with one statement at most. Returns whether other nodes wake them: only if each release
     * sees the mark.
     */
    private boolean keepAnnounced() {
        Node before = marked;
        Node now = mark.set(bell(), Waiter.POLL_PERIOD);
        if (now != null) {
            marked = now;
        }
        if (before != null && now != null && !before.id().equals(now.id())) {
            // Their places are those of the previous node.
            waiters.wakeAll();
        }
        return now != null && isListening() && mark.isNoticed();
    }

    /**
     * Returns how many others wait: other nodes, or threads of this process that have attempted for long, which count as one.
     * Returns 1 if the rows of the waiters could not be read. Threads that wait for a holder in this process's queue do not
     * count. Needs one statement at most.
     */
    public int countOthers(String name) {
        int count = isAwaited(name) ? 1 : tickets.countOtherNodes(name);
        others.put(name, Math.max(1, count));
        return count;
    }

    /**
     * Returns how many others wait for the lock, as last counted; at least 1. This outlasts the queue of this process, which may be
     * empty for a moment while its threads take turns.
     */
    public int othersLastCounted(String name) {
        return Objects.requireNonNullElse(others.getIfPresent(name), 1);
    }

    /** Whether threads of this process have attempted for long, and stand in no queue of this process. */
    public boolean isAwaited(String name) {
        return waiters.contains(name);
    }

    /** Whether a release has found a moment ago that another node waits. Known only while this node listens. */
    public boolean isAwaitedElsewhere(String name) {
        return awaitedElsewhere.getIfPresent(name) != null;
    }

    @Override
    public void awaitedElsewhere(String name) {
        awaitedElsewhere.put(name, name);
    }

    /** Whether this node is to listen as soon as a thread waits. */
    public boolean isWoken() {
        return receiver != null;
    }

    public boolean isListening() {
        return receiver != null && receiver.isListening();
    }

    @Override
    public void forget(Waiter waiter) {
        waiters.remove(waiter);
        if (!waiter.isGranted()) {
            // Until its row is gone, this node may be woken for its lock.
            mustReread = true;
        }
        boolean isNextToWake = waiter.isWakeUpUnused();
        if (!waiter.place().isFair()) {
            waiter.place().leaveSoon();
        } else if (waiter.isGranted()) {
            waiter.place().leave();
        } else if (waiter.place().leaveSoon()) {
            // Attempts of others may have failed, because this one was before them.
            thread.execute(() -> waiters.wake(waiter.name()));
            isNextToWake = true;
        }
        if (isNextToWake) {
            wakeNext(waiter.name());
        }
    }

    /** Wakes the waiters of a lock that this process has released. */
    public void lockReleased(String name) {
        waiters.wake(name);
    }

    @Override
    public void notified(String name) {
        boolean wasKept = keeper.recalled(name);
        if (notifyNext(name).isEmpty() && !wasKept) {
            tickets.removeStray(name, () -> !waiters.contains(name), () -> wakeAny(name));
        }
    }

    /** Notifies the waiters that are next, and returns them. If they have left, they may not have seen it, so the next node is woken. */
    private List<Waiter> notifyNext(String name) {
        List<Waiter> next = waiters.next(name);
        next.forEach(Waiter::notifyOfRelease);
        if (!next.isEmpty() && next.stream().noneMatch(waiters.of(name)::contains)) {
            wakeNext(name);
        }
        return next;
    }

    private void strayRemoved(String name) {
        // A thread that has come meanwhile may have lost its row too.
        waiters.of(name).forEach(waiter -> waiter.place().hide());
        wakeAny(name);
    }

    /** Wakes the waiters that may be next, in this process and in another. */
    private void wakeAny(String name) {
        waiters.wake(name);
        wakeNext(name);
    }

    @Override
    public void wakeNext(String name) {
        WakeUpChannel waking = channel;
        if (waking != null) {
            thread.hint(() -> waking.wakeNext(name));
        }
    }

    /**
     * {@inheritDoc} If this node waits for one lock, that is most probably the one.
     * Then they are not read before {@link #stillFree}, so that the waiter has the processor and the database to itself. They are read if
     * the service is woken again before that, or a thread has just stopped waiting for another lock.
     */
    @Override
    public void woken(Supplier<List<String>> free) {
        keeper.recalledAny();
        List<String> names = waiters.names();
        boolean isNotified = names.size() == 1 && !notifyNext(names.get(0)).isEmpty();
        if (isNotified && !mustReread) {
            mustReread = true;
            return;
        }
        mustReread = false;
        free.get().stream()
                .filter(name -> !isNotified || !waiters.contains(name))
                .forEach(this::notified);
    }

    @Override
    public void stillFree(List<String> names) {
        keeper.recalledAny();
        mustReread = false;
        names.forEach(this::notified);
    }

    @Override
    public void wakeAll() {
        waiters.wakeAll();
        poller.hurry();
    }

    /** Returns the number of locks for which threads have waited for long. */
    int size() {
        return waiters.names().size();
    }

    /** Makes each waiter notice that the service is being closed. */
    public void beginClosing() {
        isClosing = true;
        waiters.wakeAll();
    }

    @Override
    public void close() {
        beginClosing();
        poller.close();
        if (receiver != null) {
            receiver.close();
        }
        thread.close();
    }
}
