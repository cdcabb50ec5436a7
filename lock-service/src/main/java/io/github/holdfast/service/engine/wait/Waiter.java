package io.github.holdfast.service.engine.wait;

import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** A thread that acquires a lock, with the pauses between its attempts. Only this thread pauses; any thread may wake it. */
public final class Waiter implements AutoCloseable {

    /** How often the poller reads while the node listens. A missing wake-up costs this much time. */
    public static final Duration POLL_PERIOD = Duration.ofSeconds(1);

    /**
     * How long a waiter relies on the poller, which does not notice that the lock's row was deleted. That makes the lock free too.
     */
    public static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    /** The same for an owner that the user chose. Another process may acquire the lock for that owner, so that it can re-enter. */
    public static final Duration LONGEST_PAUSE_OF_CHOSEN_OWNER = Duration.ofSeconds(1);

    /**
     * The same while the lock is free for an earlier request. When that one has it, a lease shows how long to wait, and nothing wakes a
     * waiter at the end of a lease.
     */
    public static final Duration LONGEST_PAUSE_BEHIND_OTHERS = Duration.ofMillis(150);

    /** How often a waiter checks whether it can still rely on the poller. */
    private static final Duration POLLER_CHECK_PERIOD = Duration.ofSeconds(1);

    /** Most waiters that are woken acquire the lock at once, or after one that was faster. */
    private static final int MOST_IN_VAIN = 3;

    /** What announces and wakes waiters. */
    interface Announcer {

        /**
         * Announces this waiter to other nodes, so that they leave the lock to it. At first, this needs a statement, and one more if
         * no other thread of this node waits.
         *
         * @param seenAt the database's clock, as the waiter has just seen it
         * @return whether the waiter will be woken when the lock may be available. Otherwise, it must attempt again and again
         */
        boolean announce(Waiter waiter, Instant seenAt, Duration atMost);

        /** Whether waiters must read for themselves, because the poller has had no answer for long. */
        boolean isPollerLate();

        /** Wakes the node that has waited longest for a lock, in the background. */
        void wakeNext(String name);

        /** Forgets a waiter that waits no more. If it was woken for nothing, wakes the next one in its place. */
        void forget(Waiter waiter);
    }

    private final Announcer announcer;
    private final WaiterTickets.Place place;
    private final Thread thread = Thread.currentThread();
    private volatile boolean isWoken;
    private volatile boolean isNotified;

    /** How often the place had been taken before the last pause. */
    private int timesTaken;

    /** Whether a notification has ended the last pause, and the attempt after it is not finished. */
    private boolean mustRetry;

    private boolean isGranted;

    /** How many notifications in a row have preceded attempts that did not acquire the lock. */
    private int inVain;

    Waiter(Announcer announcer, WaiterTickets.Place place) {
        this.announcer = announcer;
        this.place = place;
    }

    String name() {
        return place.name();
    }

    /** The place of this waiter among those of other nodes. */
    WaiterTickets.Place place() {
        return place;
    }

    boolean isGranted() {
        return isGranted;
    }

    /** Whether a notification has ended the last pause, and the attempt after it is not finished. */
    public boolean mustRetry() {
        return mustRetry;
    }

    /** Whether a notification has arrived that no attempt has made use of. */
    boolean isWakeUpUnused() {
        return isNotified || mustRetry;
    }

    /** Notes that the lock was granted. */
    public void granted() {
        isGranted = true;
        isNotified = false;
        mustRetry = false;
    }

    /**
     * Notes that a share was granted. If a notification has arrived during the attempt, more shares may be free than the attempt has seen, so
     * the next one is woken.
     */
    public void shareGranted() {
        if (isNotified) {
            announcer.wakeNext(name());
        }
        granted();
    }

    /**
     * Pauses before the next attempt, after one that has decided nothing.
     *
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    public void pause(Deadline deadline) throws InterruptedException {
        mustRetry = false;
        deadline.pause(null);
    }

    /**
     * Pauses before the next attempt, because the lock was unavailable. The first pauses are those of {@link Deadline#pause}: most waits are
     * short, and not worth a write. Later, the waiter announces itself to the other nodes. Then it attempts only after a sign that the lock may
     * be available. A fair waiter announces itself at once.
     *
     * @param seenAt the database's clock when that was seen
     * @param recheckAfter after how much time to attempt again without a sign
     * @param untilFree how long the lock stays unavailable, according to its row; null if that is unknown
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    public void pause(Deadline deadline, Instant seenAt, Duration recheckAfter, @Nullable Duration untilFree)
            throws InterruptedException {
        mustRetry = false;
        if ((deadline.isLong() || place.isFair()) && announcer.announce(this, seenAt, deadline.forOneStatement())) {
            pauseUntilWoken(deadline, recheckAfter, untilFree);
        } else {
            deadline.pause(untilFree);
        }
    }

    /**
     * Pauses until woken, or until the lease ends that the row showed. A thread that does not wait may be faster, again and again.
     * So after some notifications without a grant, a waiter attempts no more often than by polling. Each time that the place was taken,
     * the first pause is no longer than that of a poll: a release that was already under way has not seen the waiter. For a fair
     * waiter, there is none.
     */
    private void pauseUntilWoken(Deadline deadline, Duration recheckAfter, @Nullable Duration untilFree)
            throws InterruptedException {
        boolean isNew = timesTaken != place.timesTaken();
        timesTaken = place.timesTaken();
        if (place.isFair() && isNew) {
            return;
        }
        boolean isDeaf = inVain >= MOST_IN_VAIN;
        Duration longest = isDeaf || isNew ? Deadline.LONGEST_PAUSE : recheckAfter;
        Duration end =
                deadline.elapsed().plus(untilFree == null || untilFree.compareTo(longest) > 0 ? longest : untilFree);
        BooleanSupplier shouldEnd = () -> isWoken || (isNotified && !isDeaf);
        Duration left = end.minus(deadline.elapsed());
        while (!shouldEnd.getAsBoolean() && left.compareTo(Duration.ZERO) > 0 && !deadline.isOver()) {
            deadline.pauseUntil(shouldEnd, left.compareTo(POLLER_CHECK_PERIOD) > 0 ? POLLER_CHECK_PERIOD : left);
            left = announcer.isPollerLate() ? Duration.ZERO : end.minus(deadline.elapsed());
        }
        inVain = isNotified ? inVain + 1 : 0;
        mustRetry = isNotified;
        isNotified = false;
        isWoken = false;
    }

    /** Ends the pause. */
    void wake() {
        isWoken = true;
        LockSupport.unpark(thread);
    }

    /** Ends the pause, unless the last notification led to no grant. */
    void notifyOfRelease() {
        isNotified = true;
        LockSupport.unpark(thread);
    }

    /** Ends the wait. */
    @Override
    public void close() {
        announcer.forget(this);
    }

    /** The threads of this service that have waited for long, by the name of the lock. Thread-safe. */
    static final class Registry {

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
}
