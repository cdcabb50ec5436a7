package io.github.holdfast.service.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The threads of this service that have waited for long, by the name of the lock. Thread-safe. */
final class WaiterRegistry {

    private final Map<String, Set<Waiter>> waiters = new ConcurrentHashMap<>();

    void add(Waiter waiter) {
        waiters.compute(waiter.name(), (name, others) -> {
            Set<Waiter> waiting = others == null ? ConcurrentHashMap.newKeySet() : others;
            waiting.add(waiter);
            return waiting;
        });
    }

    void remove(Waiter waiter) {
        waiters.computeIfPresent(waiter.name(), (name, waiting) -> {
            waiting.remove(waiter);
            return waiting.isEmpty() ? null : waiting;
        });
    }

    /**
     * Returns the waiters that may acquire a lock when it is free: all that are not fair, and the first of those that are. The
     * others would only find that it is not their turn.
     */
    List<Waiter> next(String name) {
        List<Waiter> next = new ArrayList<>();
        Waiter first = null;
        for (Waiter waiter : of(name)) {
            if (!waiter.place().isFair()) {
                next.add(waiter);
            } else if (first == null || waiter.place().isBefore(first.place())) {
                first = waiter;
            }
        }
        if (first != null) {
            next.add(first);
        }
        return next;
    }

    /** Returns the waiters of a lock at this moment; empty if there are none. */
    Set<Waiter> of(String name) {
        return waiters.getOrDefault(name, Set.of());
    }

    boolean contains(String name) {
        return waiters.containsKey(name);
    }

    /** Returns the names of the locks for which threads wait. */
    List<String> names() {
        return List.copyOf(waiters.keySet());
    }

    boolean isEmpty() {
        // The map's own answer is an estimate while others change it.
        return !waiters.keySet().iterator().hasNext();
    }

    /** Makes the {@linkplain #next next} waiters of a lock attempt to acquire it. */
    void wake(String name) {
        next(name).forEach(Waiter::wake);
    }

    /** Makes all waiters attempt to acquire their locks. */
    void wakeAll() {
        waiters.values().forEach(waiting -> waiting.forEach(Waiter::wake));
    }
}
