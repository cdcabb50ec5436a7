package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockRepository;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.WakeUpChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Who waits for which lock, and how it is woken when that is given back by another node. Every node says that it waits; only one that
 * listens is woken. A hint and nothing else: what is not heard is found by looking, and when nothing can be heard, it is looked as
 * often as without. Thread-safe.
 */
final class WakeUps implements AutoCloseable {

    /** How long a thread that will be woken waits between two looks: the cost of a notification that is not sent or is lost. */
    static final Duration LONGEST_PAUSE = Duration.ofSeconds(1);

    private final @Nullable WakeUpChannel channel;
    private final @Nullable WakeUpReceiver receiver;
    private final Heartbeat heartbeat;
    private final WaitMark mark;
    private final Map<String, Set<Waiter>> waiters = new ConcurrentHashMap<>();

    private WakeUps(@Nullable WakeUpChannel channel, LockStore store, Heartbeat heartbeat, Ticker ticker) {
        this.channel = channel;
        this.receiver = channel == null ? null : new WakeUpReceiver(channel, this);
        this.heartbeat = heartbeat;
        this.mark = new WaitMark(store, heartbeat, ticker);
    }

    /**
     * Begins to listen.
     *
     * @param channel null to poll only
     */
    static WakeUps through(@Nullable WakeUpChannel channel, LockStore store, Heartbeat heartbeat, Ticker ticker) {
        WakeUps wakeUps = new WakeUps(channel, store, heartbeat, ticker);
        if (wakeUps.receiver != null) {
            wakeUps.receiver.start();
        }
        return wakeUps;
    }

    /** As {@link LockRepository#release(LockEntity, LockEntity)}, and notifies other nodes if one of them waits. One statement. */
    boolean release(LockRepository locks, LockEntity before, LockEntity after) {
        if (channel == null) {
            return locks.release(before, after);
        }
        Node own = heartbeat.current();
        return channel.release(locks, before, after, own == null ? "" : own.id());
    }

    /** The calling thread, which is about to acquire this lock. */
    Waiter waiter(String name) {
        return new Waiter(this, name);
    }

    /**
     * Tells the others that this waiter waits, so that they let it have its turn, and wake it.
     *
     * @return whether it will be woken by other nodes, so that it need not look so often
     */
    boolean announce(Waiter waiter, Duration atMost) {
        expect(waiter);
        return mark.isSet(atMost) && isListening();
    }

    /**
     * Whether a thread of this process has been looking for the lock for long, which those do not that wait for a holder in their own
     * queue, or another node waits for whichever lock; also if that could not be asked. One statement at the most.
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

    /** It waits no more. */
    void forget(Waiter waiter) {
        waiters.computeIfPresent(waiter.name(), (name, waiting) -> {
            waiting.remove(waiter);
            return waiting.isEmpty() ? null : waiting;
        });
    }

    /** This process has given a lock back. */
    void givenBack(String name) {
        // Who polls goes on as before: each of these would look at each release, and nearly all in vain.
        if (isListening()) {
            waiters.getOrDefault(name, Set.of()).forEach(Waiter::wake);
        }
    }

    /** Another node says that it has given a lock back. */
    void notified(String name) {
        waiters.getOrDefault(name, Set.of()).forEach(Waiter::notifyOfRelease);
    }

    /** Something may have been missed. */
    void wakeAll() {
        waiters.values().forEach(waiting -> waiting.forEach(Waiter::wake));
    }

    /** Returns for how many names threads have waited for long. */
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
