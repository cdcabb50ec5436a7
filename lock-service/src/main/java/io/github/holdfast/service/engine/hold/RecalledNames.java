package io.github.holdfast.service.engine.hold;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;

/**
 * The names of locks that other services have asked for lately, and that are not kept for a while. Each further recall soon after that time
 * doubles it. Thread-safe.
 */
final class RecalledNames {

    private static final Duration SHORTEST = Duration.ofSeconds(1);
    private static final Duration LONGEST = Duration.ofMinutes(1);

    /** The largest number of names that are remembered. */
    private static final int MOST = 1000;

    /**
     * A recall.
     *
     * @param until the local time until which the name is not kept
     */
    private record Recall(long until, Duration lasts) {}

    private final Cache<String, Recall> recalls = Caffeine.newBuilder()
            .maximumSize(MOST)
            .expireAfterWrite(LONGEST.multipliedBy(2))
            .executor(Runnable::run)
            .build();

    private final Ticker ticker;

    RecalledNames(Ticker ticker) {
        this.ticker = ticker;
    }

    void add(String name) {
        long now = ticker.nanoTime();
        Recall last = recalls.getIfPresent(name);
        boolean isRecent = last != null && now - last.until() < last.lasts().toNanos();
        Duration lasts = last != null && isRecent ? last.lasts().multipliedBy(2) : SHORTEST;
        Duration limited = lasts.compareTo(LONGEST) < 0 ? lasts : LONGEST;
        recalls.put(name, new Recall(now + limited.toNanos(), limited));
    }

    /** Whether the name was asked for so lately that it is not kept. */
    boolean contains(String name) {
        Recall recall = recalls.getIfPresent(name);
        return recall != null && ticker.nanoTime() - recall.until() < 0;
    }
}
