package io.github.holdfast.service.engine.wait;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Queues the threads of one service that request the same lock, in order of arrival. Only the first thread queries the database.
 * It is woken when this process releases the lock. A name without waiters uses no memory, except for a recent offer.
 * Thread-safe.
 */
public final class LocalQueue {

    /** The largest number of offers of locks for which no thread waits. */
    private static final int MOST_OFFERS = 1000;

    private final Map<String, Line> lines = new ConcurrentHashMap<>();

    /** When offers of locks end for which no thread waits, by local time. */
    private final Cache<String, Long> offers = Caffeine.newBuilder()
            .maximumSize(MOST_OFFERS)
            .executor(Runnable::run)
            .build();

    private final Ticker ticker;

    public LocalQueue(Ticker ticker) {
        this.ticker = ticker;
    }

    /** The queue for one name. Its places change only inside the map's atomic operations. */
    private static final class Line {
        private final Set<Place> places = new LinkedHashSet<>();

        private volatile long offeredUntil;

        /** Why the last query could not show the holder of the lock; null if it did. */
        private volatile @Nullable StoreException failure;

        Line(long offeredUntil) {
            this.offeredUntil = offeredUntil;
        }
    }

    /** One thread's place in the queue. */
    public final class Place implements AutoCloseable {

        private final String name;
        private final Thread thread = Thread.currentThread();
        private volatile boolean isFirst;

        private Place(String name) {
            this.name = name;
        }

        public boolean isFirst() {
            return isFirst;
        }

        /**
         * Waits for the turn of the calling thread. The turn lasts until the place is closed.
         *
         * @return false if the turn did not come within the deadline
         * @throws LockStoreException if the turn did not come, and the database failed for the threads before
         * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
         */
        public boolean awaitTurn(Deadline deadline) throws InterruptedException {
            if (deadline.await(this::isFirst)) {
                return true;
            }
            StoreException failure = failure(name);
            if (failure != null) {
                throw new LockStoreException(
                        name, "was not acquired: the database failed for the waiters before this one", failure);
            }
            return false;
        }

        private void advance() {
            isFirst = true;
            LockSupport.unpark(thread);
        }

        /** Leaves the queue from any place. If this was the first place, the next thread is woken. */
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

    private @Nullable StoreException failure(String name) {
        Line line = lines.get(name);
        return line == null ? null : line.failure;
    }

    /**
     * Records the result of the first thread's attempt, or of a poll for it, for the waiting threads.
     *
     * @param failure why the database could not show the holder of the lock; null if it did
     */
    public void recordAttempt(String name, @Nullable StoreException failure) {
        Line line = lines.get(name);
        if (line != null) {
            line.failure = failure;
        }
    }

    /** Joins the queue for a name at its end. */
    public Place enter(String name) {
        Place place = new Place(name);
        lines.compute(name, (key, existing) -> {
            Line line = existing == null ? new Line(endOfOffer(name)) : existing;
            if (line.places.isEmpty()) {
                place.isFirst = true;
            }
            line.places.add(place);
            return line;
        });
        return place;
    }

    private long endOfOffer(String name) {
        Long until = offers.asMap().remove(name);
        long now = ticker.nanoTime();
        return until != null && until - now > 0 ? until : now;
    }

    /** Wakes the first thread in the queue: this process has just released the lock. */
    public void released(String name) {
        lines.computeIfPresent(name, (key, line) -> {
            LockSupport.unpark(line.places.iterator().next().thread);
            return line;
        });
    }

    /** Whether threads of this process wait for the lock. */
    public boolean isWaitedFor(String name) {
        return lines.containsKey(name);
    }

    /** Leaves the lock to other processes for this long, because this process has had it for long. */
    public void offer(String name, Duration time) {
        long until = ticker.nanoTime() + time.toNanos();
        Line offered = lines.computeIfPresent(name, (key, line) -> {
            line.offeredUntil = until;
            return line;
        });
        if (offered == null) {
            offers.put(name, until);
        }
    }

    /** How long the threads of this process still leave the lock to other processes; usually zero. */
    public Duration offered(String name) {
        Line line = lines.get(name);
        return line == null ? Duration.ZERO : Duration.ofNanos(Math.max(0, line.offeredUntil - ticker.nanoTime()));
    }

    /** Returns how long this process has had waiting threads without a gap since its last offer to others. */
    public Duration sinceOffered(String name) {
        Line line = lines.get(name);
        return line == null ? Duration.ZERO : Duration.ofNanos(Math.max(0, ticker.nanoTime() - line.offeredUntil));
    }

    /** Returns the number of names for which threads wait. */
    int size() {
        return lines.size();
    }
}
