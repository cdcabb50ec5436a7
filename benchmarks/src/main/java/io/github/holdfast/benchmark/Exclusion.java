package io.github.holdfast.benchmark;

import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Sees that one thread at a time is inside, and who comes after whom. */
final class Exclusion {

    private final String name;
    private final AtomicReference<@Nullable Thread> inside = new AtomicReference<>();
    private @Nullable Thread last;
    private long handOvers;

    Exclusion(String name) {
        this.name = name;
    }

    void enter() {
        Thread me = Thread.currentThread();
        Thread other = inside.compareAndExchange(null, me);
        if (other != null) {
            throw new IllegalStateException(me + " and " + other + " have lock '" + name + "' at the same time");
        }
        if (last != me) {
            handOvers++;
        }
        last = me;
    }

    void leave() {
        inside.set(null);
    }

    long handOvers() {
        return handOvers;
    }
}
