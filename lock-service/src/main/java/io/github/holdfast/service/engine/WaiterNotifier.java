package io.github.holdfast.service.engine;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.LockStore.WakeUpChannel;
import io.github.holdfast.repository.LockTables.LockRows;
import io.github.holdfast.repository.LockTables.LockSnapshot;
import io.github.holdfast.service.engine.ServiceSettings.WakeUp;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Announces waiting threads to other nodes, and wakes them when another node releases their lock. Every node announces its
 * waiting threads, but only a node that listens is woken. Wake-ups are only hints: a look finds a release that they missed. While
 * this node does not listen, its threads poll at the usual rate. Thread-safe.
 */
final class WaiterNotifier implements AutoCloseable {

    /** The longest pause of a thread that expects to be woken. A missing wake-up costs this much time. */
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

    private static final int MOST_NAMES = 1000;

    private final @Nullable WakeUpChannel channel;
    private final @Nullable NotificationListener receiver;
    private final WaitMark mark;
    private final WaiterThread thread;
    private final WaiterTickets tickets;
    private final Map<String, Set<Waiter>> waiters = new ConcurrentHashMap<>();

    /** The names that another node has waited for within the last seconds. */
    private final Cache<String, String> awaitedElsewhere = Caffeine.newBuilder()
            .maximumSize(MOST_NAMES)
            .expireAfterWrite(LONGEST_PAUSE.multipliedBy(2))
            .executor(Runnable::run)
            .build();

    /**
     * Creates a notifier. It begins to listen when a thread has waited for long for the first time.
     *
     * @param channel the channel of wake-ups; null if the database has none
     * @param thread the thread on which the channel wakes others; closed with the notifier
     * @param wakeUp whether to listen. Without listening, it still wakes others
     */
    WaiterNotifier(
            @Nullable WakeUpChannel channel,
            WaiterThread thread,
            WakeUp wakeUp,
            LockStore store,
            Heartbeat heartbeat,
            InDoubtWrites inDoubtWrites,
            Ticker ticker) {
        this.channel = channel;
        this.thread = thread;
        this.receiver = channel != null && wakeUp == WakeUp.WHERE_POSSIBLE && store.canListen()
                ? new NotificationListener(channel, this)
                : null;
        this.mark = new WaitMark(store, heartbeat, ticker);
        this.tickets = new WaiterTickets(store, heartbeat, inDoubtWrites, thread, ticker);
    }

    /** As {@link LockRows#release}, and wakes the node that has waited longest for the lock. Needs one statement. */
    boolean release(LockRows locks, LockEntity before, LockEntity after) {
        return channel == null ? locks.release(before, after) : channel.release(locks, before, after);
    }

    /** The waiter of the calling thread, which is about to acquire this lock. */
    Waiter waiter(String name) {
        return new Waiter(this, name, tickets.place(name));
    }

    /**
     * Announces this waiter to other nodes, so that they leave the lock to it, and wake it. At first, this needs a statement, and
     * one more if no other thread of this node waits.
     *
     * @param seen what the waiter has just seen
     * @return whether other nodes will wake the waiter, so that it can attempt less often
     */
    boolean announce(Waiter waiter, LockSnapshot seen, Duration atMost) {
        expect(waiter);
        if (receiver != null) {
            receiver.startOnce();
        }
        Long bell = channel == null ? null : channel.bell();
        Node node = mark.set(bell, atMost);
        return node != null && waiter.place().take(node, seen, atMost) && bell != null && isListening();
    }

    /**
     * Returns how many others wait: other nodes, or threads of this process that have attempted for long, which count as one.
     * Returns 1 if the rows of the waiters could not be read. Threads that wait for a holder in this process's queue do not
     * count. Needs one statement at the most.
     */
    int countOthers(String name) {
        return waiters.containsKey(name) ? 1 : tickets.countOtherNodes(name);
    }

    /** Whether a release has found a moment ago that another node waits. Known only while this node listens. */
    boolean isAwaitedElsewhere(String name) {
        return awaitedElsewhere.getIfPresent(name) != null;
    }

    /** Notes that a release has found another node that waits. */
    void awaitedElsewhere(String name) {
        awaitedElsewhere.put(name, name);
    }

    boolean isListening() {
        return receiver != null && receiver.isListening();
    }

    private void expect(Waiter waiter) {
        waiters.compute(waiter.name(), (name, others) -> {
            Set<Waiter> waiting = others == null ? ConcurrentHashMap.newKeySet() : others;
            waiting.add(waiter);
            return waiting;
        });
    }

    /** Forgets a waiter that waits no more. If it was woken for nothing, wakes the next one in its place. */
    void forget(Waiter waiter) {
        waiters.computeIfPresent(waiter.name(), (name, waiting) -> {
            waiting.remove(waiter);
            return waiting.isEmpty() ? null : waiting;
        });
        waiter.place().leave();
        if (waiter.isWakeUpUnused()) {
            wakeNext(waiter.name());
        }
    }

    /** Wakes the waiters of a lock that this process has released. */
    void lockReleased(String name) {
        // Polling threads are not woken: each would attempt after each release, and nearly all in vain.
        if (isListening()) {
            waiters.getOrDefault(name, Set.of()).forEach(Waiter::wake);
        }
    }

    /** Notifies the waiters of a lock that another node has released. */
    void notified(String name) {
        Set<Waiter> waiting = waiters.getOrDefault(name, Set.of());
        waiting.forEach(Waiter::notifyOfRelease);
        if (waiting.isEmpty()) {
            tickets.removeStray(name, () -> !waiters.containsKey(name), () -> {
                // A thread that has come meanwhile may have lost its row too.
                waiters.getOrDefault(name, Set.of())
                        .forEach(waiter -> waiter.place().hide());
                wakeNext(name);
            });
        }
    }

    /** Wakes the node that has waited longest for a lock, in the background. */
    private void wakeNext(String name) {
        WakeUpChannel waking = channel;
        if (waking != null) {
            thread.execute(() -> waking.wakeNext(name));
        }
    }

    /**
     * Notifies the waiters of locks that another node has released.
     *
     * @param free reads the names of those locks, with one statement
     */
    void woken(Supplier<List<String>> free) {
        if (waiters.size() == 1) {
            // Saves the waiter a round trip.
            waiters.values().forEach(waiting -> waiting.forEach(Waiter::notifyOfRelease));
            free.get().stream().filter(name -> !waiters.containsKey(name)).forEach(this::notified);
        } else {
            free.get().forEach(this::notified);
        }
    }

    /** Wakes all waiters, because a wake-up may have been missed. */
    void wakeAll() {
        waiters.values().forEach(waiting -> waiting.forEach(Waiter::wake));
    }

    /** Returns the number of locks for which threads have waited for long. */
    int size() {
        return waiters.size();
    }

    @Override
    public void close() {
        if (receiver != null) {
            receiver.close();
        }
        thread.close();
    }
}
