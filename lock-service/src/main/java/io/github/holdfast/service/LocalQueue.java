package io.github.holdfast.service;

import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Threads of one service that want the same name, in the order in which they came: only the first of them asks the database, and
 * is woken when the lock is given back in this process. A name that nobody waits for leaves nothing behind. Thread-safe.
 */
final class LocalQueue {

    /**
     * How long a lock is offered to other processes: more than twice the longest pause, so that these look and are granted it even if
     * they are slow. With 60 ms, every fourth offer was missed on a busy machine.
     */
    private static final Duration OFFER = Duration.ofMillis(100);

    private final Map<String, Line> lines = new ConcurrentHashMap<>();
    private final Ticker ticker;

    LocalQueue(Ticker ticker) {
        this.ticker = ticker;
    }

    /** Changed only inside the map's atomic operations. */
    private final class Line {
        private final Set<Place> places = new LinkedHashSet<>();

        private volatile long offeredUntil = ticker.nanoTime();

        /** Why the database did not tell who has the lock when it was asked last; null if it did. */
        private volatile @Nullable StoreException failure;
    }

    /** One thread's place. */
    final class Place implements AutoCloseable {

        private final String name;
        private final Thread thread = Thread.currentThread();
        private volatile boolean isFirst;

        private Place(String name) {
            this.name = name;
        }

        boolean isFirst() {
            return isFirst;
        }

        private void advance() {
            isFirst = true;
            LockSupport.unpark(thread);
        }

        /** Leaves the queue, wherever it is; the next one is woken. */
        @Override
        public void close() {
            lines.computeIfPresent(name, (key, line) -> {
                line.places.remove(this);
                Iterator<Place> next = line.places.iterator();
                if (!next.hasNext()) {
                    return null;
                }
                if (isFirst) {
                    next.next().advance();
                }
                return line;
            });
        }
    }

    /** What is done by the first in the queue. */
    interface Turn<T> {
        Optional<T> take() throws InterruptedException;
    }

    /**
     * Waits until it is the calling thread's turn, and takes it.
     *
     * @return empty if it was not within the patience, or the turn had no result
     * @throws LockStoreException if it was not within the patience, and the database failed those who came before
     */
    <T> Optional<T> inTurn(String name, Patience patience, Turn<T> turn) throws InterruptedException {
        try (Place place = enter(name)) {
            if (patience.await(place::isFirst)) {
                return turn.take();
            }
            StoreException failure = failure(name);
            if (failure != null) {
                throw new LockStoreException(
                        name, "was not acquired: those who came before could not ask for it", failure);
            }
            return Optional.empty();
        }
    }

    private @Nullable StoreException failure(String name) {
        Line line = lines.get(name);
        return line == null ? null : line.failure;
    }

    /**
     * Remembers for those who wait how it went with the first of them.
     *
     * @param failure why the database did not tell who has the lock; null if it did
     */
    void asked(String name, @Nullable StoreException failure) {
        Line line = lines.get(name);
        if (line != null) {
            line.failure = failure;
        }
    }

    /** Joins the queue for a name at its end. */
    Place enter(String name) {
        Place place = new Place(name);
        lines.compute(name, (key, existing) -> {
            Line line = existing == null ? new Line() : existing;
            if (line.places.isEmpty()) {
                place.isFirst = true;
            }
            line.places.add(place);
            return line;
        });
        return place;
    }

    /** Wakes the first in the queue: the lock has just been given back by this process. */
    void released(String name) {
        lines.computeIfPresent(name, (key, line) -> {
            LockSupport.unpark(line.places.iterator().next().thread);
            return line;
        });
    }

    /** Whether threads of this process wait. */
    boolean isWaitedFor(String name) {
        return lines.containsKey(name);
    }

    /** Lets others look first: the lock is about to be given back by this process, which has had it for long. */
    void offer(String name) {
        lines.computeIfPresent(name, (key, line) -> {
            line.offeredUntil = ticker.nanoTime() + OFFER.toNanos();
            return line;
        });
    }

    /** For how long still nobody here looks, so that other processes may have the lock; mostly zero. */
    Duration offered(String name) {
        Line line = lines.get(name);
        return line == null ? Duration.ZERO : Duration.ofNanos(Math.max(0, line.offeredUntil - ticker.nanoTime()));
    }

    /** For how long threads of this process have waited without an end since the lock was offered to others last. */
    Duration sinceOffered(String name) {
        Line line = lines.get(name);
        return line == null ? Duration.ZERO : Duration.ofNanos(Math.max(0, ticker.nanoTime() - line.offeredUntil));
    }

    /** Returns for how many names threads are waiting. */
    int size() {
        return lines.size();
    }
}
