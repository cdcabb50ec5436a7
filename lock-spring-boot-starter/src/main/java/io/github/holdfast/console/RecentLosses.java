package io.github.holdfast.console;

import io.github.holdfast.service.LockListener;
import io.github.holdfast.service.LockLost;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Remembers which locks of one service were lost: the last 100. For {@link LockConsole}. Thread-safe. */
public final class RecentLosses implements LockListener {

    private static final int KEPT = 100;

    /** The last one first. */
    private final Deque<Remembered> losses = new ArrayDeque<>();

    /** @param at local time: whoever tells of a loss cannot ask the database, which is perhaps the cause */
    private record Remembered(LockLost loss, long at) {}

    /** @param ago by the process's monotonic clock */
    record Loss(LockLost loss, Duration ago) {}

    private RecentLosses() {}

    /** Returns a listener that has seen no loss yet. */
    public static RecentLosses empty() {
        return new RecentLosses();
    }

    @Override
    public void lost(LockLost loss) {
        synchronized (losses) {
            losses.addFirst(new Remembered(loss, System.nanoTime()));
            if (losses.size() > KEPT) {
                losses.removeLast();
            }
        }
    }

    List<Loss> lastFirst() {
        long now = System.nanoTime();
        synchronized (losses) {
            return losses.stream()
                    .map(seen -> new Loss(seen.loss(), Duration.ofNanos(now - seen.at())))
                    .toList();
        }
    }
}
