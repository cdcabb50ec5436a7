package io.github.holdfast.console;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the last lock events of one service. Grants and releases are kept apart from what is rare, so that a busy lock does not push
 * out the loss of another. Thread-safe.
 */
final class RecentEvents implements LockListener {

    /** How many of each of the two sorts. */
    static final int KEPT = 1000;

    /** What happened. */
    enum Kind {
        ACQUIRED,
        RELEASED,
        TAKEN_OVER,
        DEFERRED,
        SUSPECT,
        LOST
    }

    /**
     * @param fencingToken the token of the grant
     * @param detail the outcome of a release, the cause of a loss, the previous holder of a lock that was taken over; null for
     *     others
     * @param at the monotonic clock; a listener cannot read the database's clock, because the database may be the cause of the event
     */
    record Event(
            Kind kind,
            String name,
            long fencingToken,
            @Nullable String detail,
            long at) {

        /** Returns how long ago it was. */
        Duration ago(long now) {
            return Duration.ofNanos(now - at);
        }
    }

    /** The newest first. */
    private final Deque<Event> usual = new ArrayDeque<>();

    private final Deque<Event> rare = new ArrayDeque<>();

    @Override
    public void acquired(String lockName, long fencingToken, Duration waited) {
        add(usual, Kind.ACQUIRED, lockName, fencingToken, null);
    }

    @Override
    public void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {
        add(usual, Kind.RELEASED, lockName, fencingToken, outcome.name());
    }

    @Override
    public void deferred(String lockName, long fencingToken) {
        add(rare, Kind.DEFERRED, lockName, fencingToken, null);
    }

    @Override
    public void suspect(String lockName, long fencingToken) {
        add(rare, Kind.SUSPECT, lockName, fencingToken, null);
    }

    @Override
    public void lost(LockLost loss) {
        add(rare, Kind.LOST, loss.lockName(), loss.fencingToken(), loss.cause().name());
    }

    @Override
    public void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {
        add(rare, Kind.TAKEN_OVER, lockName, fencingToken, formerHolder);
    }

    private static void add(Deque<Event> events, Kind kind, String name, long fencingToken, @Nullable String detail) {
        synchronized (events) {
            events.addFirst(new Event(kind, name, fencingToken, detail, System.nanoTime()));
            if (events.size() > KEPT) {
                events.removeLast();
            }
        }
    }

    /** Returns the events of a lock that are kept, in no order. */
    List<Event> of(String name) {
        return Stream.of(usual, rare)
                .flatMap(events -> of(name, events).stream())
                .toList();
    }

    private static List<Event> of(String name, Deque<Event> events) {
        synchronized (events) {
            return events.stream().filter(event -> event.name().equals(name)).toList();
        }
    }
}
