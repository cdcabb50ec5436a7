package io.github.holdfast.service.engine.runtime;

import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The deadline of one call, with the pauses between its attempts. The pauses are a capped exponential back-off. Jitter keeps
 * waiters from attempting at the same moment. Not thread-safe.
 *
 * <p>An uninterruptible call clears the thread's interrupt, because connection pools give no connection to an interrupted thread.
 * {@link #close} restores the interrupt.
 */
public final class Deadline implements AutoCloseable {

    private static final Duration FIRST_PAUSE = Duration.ofMillis(4);

    /**
     * The longest pause between two polls. On average, half of it passes between a release and the next grant. Each poll is one
     * statement, so a service that polls sends 24 or 25 statements per
     * second.
     */
    public static final Duration LONGEST_PAUSE = Duration.ofMillis(45);

    /** Most waits end within this time, which is enough for three pauses and their attempts. */
    private static final Duration SHORT_WAIT = Duration.ofMillis(40);

    /** The shortest time limit of a statement: the drivers count query timeouts in seconds. */
    private static final Duration SHORTEST_STATEMENT = Duration.ofSeconds(1);

    /** The longest time limit of a statement. A slower one is waiting for a row that another transaction has locked. */
    private static final Duration LONGEST_STATEMENT = Duration.ofSeconds(10);

    /** A call retries lost races and conflicts for at least this long. */
    private static final Duration DECISION_LIMIT = Duration.ofSeconds(3);

    private enum Interrupts {
        THROWN,
        PUT_ASIDE
    }

    private final Ticker ticker;
    private final long startedAt;
    private final long limitNanos;
    private final Interrupts interrupts;
    private boolean interrupted;
    private Duration nextPause = FIRST_PAUSE;

    private Deadline(Ticker ticker, Duration limit, Interrupts interrupts) {
        this.ticker = ticker;
        this.startedAt = ticker.nanoTime();
        this.limitNanos = limit.toNanos();
        this.interrupts = interrupts;
        this.interrupted = interrupts == Interrupts.PUT_ASIDE && Thread.interrupted();
    }

    public static Deadline interruptible(Ticker ticker, Duration limit) {
        return new Deadline(ticker, limit, Interrupts.THROWN);
    }

    public static Deadline uninterruptible(Ticker ticker, Duration limit) {
        return new Deadline(ticker, limit, Interrupts.PUT_ASIDE);
    }

    /** Work that is done within a deadline. */
    public interface Work<T extends @Nullable Object> {
        T within(Deadline deadline) throws InterruptedException;
    }

    /** Does the work with an uninterruptible deadline. */
    public static <T extends @Nullable Object> T uninterruptibly(Ticker ticker, Duration limit, Work<T> work) {
        try (Deadline deadline = new Deadline(ticker, limit, Interrupts.PUT_ASIDE)) {
            return work.within(deadline);
        } catch (InterruptedException thrown) {
            throw new AssertionError("An uninterruptible operation was interrupted", thrown);
        }
    }

    /**
     * Does work that is safe to repeat, and repeats it after a conflict. Even a read may fail because of concurrent writes.
     *
     * @throws StoreException if the database failed in another way, or conflicts lasted until the limit
     */
    public static <T> T untilDecided(Ticker ticker, Duration limit, Supplier<T> work) {
        return uninterruptibly(
                ticker,
                limit,
                deadline -> deadline.repeat(work, failed -> failed.failure().isUndecided()));
    }

    /** As {@link #repeat(Supplier, Predicate)}; repeats the work after every transient failure. */
    public <T extends @Nullable Object> T repeat(Supplier<T> work) throws InterruptedException {
        return repeat(work, failed -> failed.failure().isTransient());
    }

    /**
     * Repeats the work until the database answers, or the deadline has passed.
     *
     * @param isRepeatable whether to repeat the work after this failure; called after each failure, including the last
     * @throws StoreException the last failure
     * @throws InterruptedException if the call is interruptible and its thread was interrupted
     */
    public <T extends @Nullable Object> T repeat(Supplier<T> work, Predicate<StoreException> isRepeatable)
            throws InterruptedException {
        while (true) {
            try {
                return work.get();
            } catch (StoreException failed) {
                awaitRetry(failed, isRepeatable);
            }
        }
    }

    /**
     * Pauses after a failure, before the caller repeats its work.
     *
     * @param isRepeatable whether to repeat the work after this failure
     * @throws StoreException the failure, if it is not repeatable, or the deadline has passed
     * @throws InterruptedException if the call is interruptible and its thread was interrupted
     */
    public void awaitRetry(StoreException failed, Predicate<StoreException> isRepeatable) throws InterruptedException {
        boolean repeatable = isRepeatable.test(failed);
        if (failed.failure().isOfConnection() && takeInterrupt()) {
            return;
        }
        boolean isOver = failed.failure().isUndecided() ? isOverForDecision() : isOver();
        if (!repeatable || isOver) {
            throw failed;
        }
        pause(null);
    }

    public Duration elapsed() {
        return Duration.ofNanos(ticker.nanoTime() - startedAt);
    }

    /** The time that is left; zero if the deadline has passed. */
    public Duration left() {
        return Duration.ofNanos(Math.max(0, leftNanos()));
    }

    public boolean isOver() {
        return leftNanos() <= 0;
    }

    /**
     * Whether the time for a decision has passed. Attempts that lose races or meet conflicts get some seconds at least, even after
     * the deadline.
     */
    public boolean isOverForDecision() {
        return isOver() && elapsed().compareTo(DECISION_LIMIT) >= 0;
    }

    /** The time limit for one statement of this call. */
    public Duration forOneStatement() {
        Duration left = Duration.ofNanos(Math.max(leftNanos(), SHORTEST_STATEMENT.toNanos()));
        return shorter(left, LONGEST_STATEMENT);
    }

    /**
     * Pauses before the next attempt, or until the thread is unparked.
     *
     * @param atMost the longest useful pause, for example until the lease ends; null if that is not known
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    public void pause(@Nullable Duration atMost) throws InterruptedException {
        Duration pause = nextPause();
        park(atMost == null ? pause : shorter(pause, atMost));
    }

    private Duration nextPause() {
        long jittered = jittered(nextPause);
        nextPause = shorter(nextPause.multipliedBy(2), LONGEST_PAUSE);
        // After the deadline, attempts continue only until a decision, with the same pauses.
        long left = leftNanos() <= 0 ? Long.MAX_VALUE : leftNanos();
        return Duration.ofNanos(Math.min(jittered, left));
    }

    /** Returns a pause up to a fifth shorter than this one, in nanoseconds. */
    public static long jittered(Duration pause) {
        return ThreadLocalRandom.current().nextLong(pause.toNanos() * 4 / 5, pause.toNanos() + 1);
    }

    /** Whether the call has lasted at least as long as a short wait. Time in a queue counts too. */
    public boolean isLong() {
        return elapsed().compareTo(SHORT_WAIT) >= 0;
    }

    /**
     * Pauses for this long, until the condition is met, or until the deadline has passed. The code that changes the condition must unpark
     * the thread.
     *
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    public void pauseUntil(BooleanSupplier condition, Duration atMost) throws InterruptedException {
        parkUntil(condition, shorter(atMost, left()));
    }

    /** Pauses for this long, unless the deadline has already passed. */
    public void pauseFor(Duration duration) throws InterruptedException {
        parkUntil(this::isOver, duration);
    }

    private void parkUntil(BooleanSupplier condition, Duration atMost) throws InterruptedException {
        long until = ticker.nanoTime() + atMost.toNanos();
        for (long left = atMost.toNanos(); left > 0 && !condition.getAsBoolean(); left = until - ticker.nanoTime()) {
            park(Duration.ofNanos(left));
        }
    }

    /**
     * Waits until the condition is met, or the deadline has passed. The code that changes the condition must unpark the thread.
     *
     * @return whether the condition is met
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    public boolean await(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            if (isOver()) {
                return false;
            }
            park(Duration.ofNanos(leftNanos()));
        }
        return true;
    }

    /**
     * Waits for a Java lock until {@link #isOverForDecision}.
     *
     * @return whether the calling thread has locked it
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    public boolean lock(Lock lock) throws InterruptedException {
        while (!lock.tryLock()) {
            if (isOverForDecision()) {
                return false;
            }
            try {
                if (lock.tryLock(LONGEST_PAUSE.toNanos(), TimeUnit.NANOSECONDS)) {
                    return true;
                }
            } catch (InterruptedException thrown) {
                Thread.currentThread().interrupt();
                boolean unused = takeInterrupt();
            }
        }
        return true;
    }

    private void park(Duration atMost) throws InterruptedException {
        if (!Thread.currentThread().isInterrupted() && !atMost.isZero()) {
            ticker.park(this, atMost.toNanos());
        }
        boolean unused = takeInterrupt();
    }

    /**
     * Takes a pending interrupt of the thread. An interrupt makes a connection pool fail although the database works.
     *
     * @return whether an uninterruptible call was interrupted, and should try again
     * @throws InterruptedException if the call is interruptible and its thread was interrupted
     */
    public boolean takeInterrupt() throws InterruptedException {
        if (!Thread.interrupted()) {
            return false;
        }
        if (interrupts == Interrupts.THROWN) {
            throw new InterruptedException();
        }
        interrupted = true;
        return true;
    }

    /** Restores the interrupt that was put aside. */
    @Override
    public void close() {
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private long leftNanos() {
        return limitNanos - (ticker.nanoTime() - startedAt);
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
