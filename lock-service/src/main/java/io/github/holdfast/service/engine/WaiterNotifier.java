package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.LockStore.WakeUpChannel;
import io.github.holdfast.repository.LockTables.LockRows;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Announces waiting threads to other nodes, and wakes them when another node releases their lock. Every node announces its
 * waiting threads, but only a node that listens is woken. Notifications are only hints: polling finds a release that they missed.
 * While this node cannot receive notifications, its threads poll at the usual rate. Thread-safe.
 */
final class WaiterNotifier implements AutoCloseable {

    /** The longest pause of a thread that expects a notification. A missing notification costs this much time. */
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

    private final @Nullable WakeUpChannel channel;
    private final @Nullable NotificationListener receiver;
    private final Heartbeat heartbeat;
    private final WaitMark mark;
    private final Map<String, Set<Waiter>> waiters = new ConcurrentHashMap<>();

    private WaiterNotifier(@Nullable WakeUpChannel channel, LockStore store, Heartbeat heartbeat, Ticker ticker) {
        this.channel = channel;
        this.receiver = channel == null ? null : new NotificationListener(channel, this);
        this.heartbeat = heartbeat;
        this.mark = new WaitMark(store, heartbeat, ticker);
    }

    /**
     * Creates a notifier, and begins to listen.
     *
     * @param channel the channel of notifications; null to poll only
     */
    static WaiterNotifier through(
            @Nullable WakeUpChannel channel, LockStore store, Heartbeat heartbeat, Ticker ticker) {
        WaiterNotifier waiterNotifier = new WaiterNotifier(channel, store, heartbeat, ticker);
        if (waiterNotifier.receiver != null) {
            waiterNotifier.receiver.start();
        }
        return waiterNotifier;
    }

    /** As {@link LockRows#release}, and notifies other nodes if one of them waits. Needs one statement. */
    boolean release(LockRows locks, LockEntity before, LockEntity after) {
        if (channel == null) {
            return locks.release(before, after);
        }
        Node own = heartbeat.current();
        return channel.release(locks, before, after, own == null ? "" : own.id());
    }

    /** The waiter of the calling thread, which is about to acquire this lock. */
    Waiter waiter(String name) {
        return new Waiter(this, name);
    }

    /**
     * Announces this waiter to other nodes, so that they leave the lock to it, and wake it.
     *
     * @return whether other nodes will wake the waiter, so that it can attempt less often
     */
    boolean announce(Waiter waiter, Duration atMost) {
        expect(waiter);
        return mark.isSet(atMost) && isListening();
    }

    /**
     * Whether others wait: a thread of this process that has attempted for long, or another node with a thread that waits for any
     * lock. Also true if the other nodes' rows could not be read. Threads that wait for a holder in this process's queue do not
     * count. Needs one statement at the most.
     */
    boolean isAnotherWaiting(String name) {
        return waiters.containsKey(name) || mark.isSetElsewhere();
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

    /** Forgets a waiter that waits no more. */
    void forget(Waiter waiter) {
        waiters.computeIfPresent(waiter.name(), (name, waiting) -> {
            waiting.remove(waiter);
            return waiting.isEmpty() ? null : waiting;
        });
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
        waiters.getOrDefault(name, Set.of()).forEach(Waiter::notifyOfRelease);
    }

    /** Wakes all waiters, because a notification may have been missed. */
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
    }
}
