package io.github.holdfast.console;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** Keeps the last 100 lock losses of one service, for {@link LockConsole}. Thread-safe. */
public final class RecentLosses implements LockListener {

    private static final int KEPT = 100;

    /** The newest first. */
    private final Deque<Remembered> losses = new ArrayDeque<>();

    /**
     * @param at the local time; a listener cannot read the database's clock, because the database may be the cause of the loss
     */
    private record Remembered(LockLost loss, long at) {}

    /** @param ago how long ago the lock was lost, by the process's monotonic clock */
    record Loss(LockLost loss, Duration ago) {}

    private RecentLosses() {}

    /** Returns a listener that has recorded no losses yet. */
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
