package io.github.holdfast.semaphore;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.engine.share.PermitRequest;
import java.time.Duration;

/**
 * A request for permits of a semaphore. It contains the name and the limit of the semaphore, and how to acquire and hold the permits.
 * Immutable: each method returns a copy with one change.
 *
 * <pre>{@code
 * SemaphoreRequest.of("exports").limit(3).waitAtMost(Duration.ofSeconds(5))
 * }</pre>
 */
public final class SemaphoreRequest {

    private static final int NO_LIMIT = 0;

    private final LockRequest lock;
    private final int permits;
    private final int limit;

    private SemaphoreRequest(LockRequest lock, int permits, int limit) {
        this.lock = lock;
        this.permits = permits;
        this.limit = limit;
    }

    /**
     * Returns a request for one permit. It also needs a {@link #limit}. It has the wait time {@link LockRequest#DEFAULT_WAIT}. If you
     * set no {@link #lease}, the permit is held until its release, for as long as the process lives and reaches the database.
     *
     * @param name the name of the semaphore, with the rules of {@link LockRequest#of}. No lock can have the same name
     * @throws IllegalArgumentException if the name is not valid
     */
    public static SemaphoreRequest of(String name) {
        return new SemaphoreRequest(LockRequest.of(name).notReentrant(), 1, NO_LIMIT);
    }

    /**
     * Sets how many permits the semaphore has. The first acquisition stores this limit in the database. From then on, the stored limit
     * counts, and that of a request changes nothing.
     *
     * @param limit 1 to {@link Integer#MAX_VALUE}
     * @throws IllegalArgumentException if it is less than 1
     */
    public SemaphoreRequest limit(int limit) {
        return new SemaphoreRequest(lock, permits, atLeastOne("limit", limit));
    }

    /**
     * Acquires this many permits together: all of them, or none.
     *
     * @param permits 1 to the {@link #limit}
     * @throws IllegalArgumentException if it is less than 1
     */
    public SemaphoreRequest permits(int permits) {
        return new SemaphoreRequest(lock, atLeastOne("number of permits", permits), limit);
    }

    private static int atLeastOne(String what, int number) {
        if (number < 1) {
            throw new IllegalArgumentException("The " + what + " must be at least 1, but is " + number);
        }
        return number;
    }

    /**
     * Limits the hold to this lease, as {@link LockRequest#lease} does for a lock.
     *
     * @param lease {@link LockRequest#SHORTEST_LEASE} to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is out of that range
     */
    public SemaphoreRequest lease(Duration lease) {
        return new SemaphoreRequest(lock.lease(lease), permits, limit);
    }

    /**
     * Waits at most this long for the permits.
     *
     * @param waitTime zero (one attempt, without waiting for a holder) to {@link LockRequest#LONGEST_DURATION}
     * @throws IllegalArgumentException if it is negative or longer
     */
    public SemaphoreRequest waitAtMost(Duration waitTime) {
        return new SemaphoreRequest(lock.waitAtMost(waitTime), permits, limit);
    }

    /** Waits for the permits without a limit (more precisely, for {@link LockRequest#LONGEST_DURATION}). */
    public SemaphoreRequest waitForever() {
        return new SemaphoreRequest(lock.waitForever(), permits, limit);
    }

    /** Interrupts the acquiring thread if the permits are lost before their release. */
    public SemaphoreRequest interruptOnLoss() {
        return new SemaphoreRequest(lock.interruptOnLoss(), permits, limit);
    }

    /** Makes the acquisition fail if the service cannot fence transactions, as {@link LockRequest#requireFence} does for a lock. */
    public SemaphoreRequest requireFence() {
        return new SemaphoreRequest(lock.requireFence(), permits, limit);
    }

    /** Does not fence transactions: they commit even if the permits are lost. */
    public SemaphoreRequest withoutFence() {
        return new SemaphoreRequest(lock.withoutFence(), permits, limit);
    }

    String name() {
        return lock.name();
    }

    /**
     * Returns the request for the engine.
     *
     * @throws IllegalArgumentException if it has no limit, or requests more permits than that
     */
    PermitRequest complete() {
        if (limit == NO_LIMIT) {
            throw new IllegalArgumentException(
                    "Semaphore '" + name() + "' needs a limit: say how many permits it has with limit(...)");
        }
        if (permits > limit) {
            throw new IllegalArgumentException(
                    "Semaphore '" + name() + "' has " + limit + " permits, so no owner can acquire " + permits);
        }
        return new PermitRequest(lock, permits, limit);
    }

    @Override
    public String toString() {
        return "SemaphoreRequest[permits=%d, limit=%s, lock=%s]"
                .formatted(permits, limit == NO_LIMIT ? "none" : String.valueOf(limit), lock);
    }
}
