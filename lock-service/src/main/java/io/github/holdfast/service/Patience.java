package io.github.holdfast.service;

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
 * How long one call may go on trying, and how long it pauses between two attempts: capped exponential back-off, with
 * jitter so that waiters do not come in step. Not thread-safe.
 *
 * <p>An uninterruptible call puts the thread's interrupt aside until {@link #close}: connection pools give an interrupted
 * thread no connection.
 */
final class Patience implements AutoCloseable {

    private static final Duration FIRST_PAUSE = Duration.ofMillis(4);

    /** A poll costs half of it on average between a release and the next grant, and one statement each time: 24 or 25 in a second. */
    static final Duration LONGEST_PAUSE = Duration.ofMillis(45);

    /** Most waits are over by then: three pauses and their looks. */
    private static final Duration SHORT_WAIT = Duration.ofMillis(40);

    /** What a statement gets at least: the drivers count query timeouts in seconds. */
    private static final Duration SHORTEST_STATEMENT = Duration.ofSeconds(1);

    /** A statement that takes longer waits for a row that somebody else has locked. */
    private static final Duration LONGEST_STATEMENT = Duration.ofSeconds(10);

    /** How long lost races and conflicts are repeated at least. */
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

    private Patience(Ticker ticker, Duration limit, Interrupts interrupts) {
        this.ticker = ticker;
        this.startedAt = ticker.nanoTime();
        this.limitNanos = limit.toNanos();
        this.interrupts = interrupts;
        this.interrupted = interrupts == Interrupts.PUT_ASIDE && Thread.interrupted();
    }

    static Patience interruptible(Ticker ticker, Duration limit) {
        return new Patience(ticker, limit, Interrupts.THROWN);
    }

    static Patience uninterruptible(Ticker ticker, Duration limit) {
        return new Patience(ticker, limit, Interrupts.PUT_ASIDE);
    }

    /** What is done within a patience. */
    interface Work<T extends @Nullable Object> {
        T within(Patience patience) throws InterruptedException;
    }

    /** Does the work with a patience that is not interruptible. */
    static <T extends @Nullable Object> T uninterruptibly(Ticker ticker, Duration limit, Work<T> work) {
        try (Patience patience = new Patience(ticker, limit, Interrupts.PUT_ASIDE)) {
            return work.within(patience);
        } catch (InterruptedException thrown) {
            throw new AssertionError("What is not interruptible was interrupted", thrown);
        }
    }

    /**
     * Does work that is as well done twice, and repeats it after a conflict: even a read may fail because of what others
     * write meanwhile.
     *
     * @throws StoreException if the database failed otherwise, or until the limit was over
     */
    static <T> T untilDecided(Ticker ticker, Duration limit, Supplier<T> work) {
        return uninterruptibly(
                ticker,
                limit,
                patience -> patience.repeat(work, failed -> failed.failure().isUndecided()));
    }

    /** As {@link #repeat(Supplier, Predicate)}, after every failure that may pass. */
    <T extends @Nullable Object> T repeat(Supplier<T> work) throws InterruptedException {
        return repeat(work, failed -> failed.failure().isTransient());
    }

    /**
     * Asks the database until it answers, or the patience is over.
     *
     * @param isRepeatable whether it makes sense after this failure; asked after each, last too
     * @throws StoreException the last failure
     * @throws InterruptedException if the call is interruptible and its thread was interrupted
     */
    <T extends @Nullable Object> T repeat(Supplier<T> work, Predicate<StoreException> isRepeatable)
            throws InterruptedException {
        while (true) {
            try {
                return work.get();
            } catch (StoreException failed) {
                boolean repeatable = isRepeatable.test(failed);
                if (failed.failure().isOfConnection() && takeInterrupt()) {
                    continue;
                }
                boolean isOver = failed.failure().isUndecided() ? isOverForDecision() : isOver();
                if (!repeatable || isOver) {
                    throw failed;
                }
                pause(null);
            }
        }
    }

    Duration elapsed() {
        return Duration.ofNanos(ticker.nanoTime() - startedAt);
    }

    /** How long it lasts still; zero if it is over. */
    Duration left() {
        return Duration.ofNanos(Math.max(0, leftNanos()));
    }

    boolean isOver() {
        return leftNanos() <= 0;
    }

    /** Whether it is over for what only needs to be asked again to reach a decision. */
    boolean isOverForDecision() {
        return isOver() && elapsed().compareTo(DECISION_LIMIT) >= 0;
    }

    /** How long the database may take for one statement of this call. */
    Duration forOneStatement() {
        Duration left = Duration.ofNanos(Math.max(leftNanos(), SHORTEST_STATEMENT.toNanos()));
        return shorter(left, LONGEST_STATEMENT);
    }

    /**
     * Pauses before the next attempt, or until the thread is unparked.
     *
     * @param atMost after which time it is worth another look in any case, null if that is not known
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    void pause(@Nullable Duration atMost) throws InterruptedException {
        Duration pause = nextPause(LONGEST_PAUSE);
        park(atMost == null ? pause : shorter(pause, atMost));
    }

    private Duration nextPause(Duration longest) {
        Duration pause = shorter(nextPause, longest);
        long jittered = ThreadLocalRandom.current().nextLong(pause.toNanos() * 4 / 5, pause.toNanos() + 1);
        nextPause = shorter(pause.multipliedBy(2), longest);
        // Once the time is over, attempts go on only to reach a decision, with the same pauses.
        long left = leftNanos() <= 0 ? Long.MAX_VALUE : leftNanos();
        return Duration.ofNanos(Math.min(jittered, left));
    }

    /** Whether it has lasted for as long as the short pauses take; it has without them if the thread was in a queue. */
    boolean isLong() {
        return elapsed().compareTo(SHORT_WAIT) >= 0;
    }

    /**
     * Pauses before the next attempt, or until that is so. Whoever makes it so unparks the thread.
     *
     * @param longest how long the pauses become, instead of {@link #LONGEST_PAUSE}
     * @param atMost after which time it is worth another look in any case
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    void pauseUntil(BooleanSupplier condition, Duration longest, Duration atMost) throws InterruptedException {
        parkUntil(condition, shorter(nextPause(longest), atMost));
    }

    /**
     * Pauses for this long, or until that is so. Whoever makes it so unparks the thread.
     *
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    void pauseUntil(BooleanSupplier condition, Duration atMost) throws InterruptedException {
        parkUntil(condition, shorter(atMost, left()));
    }

    /** Pauses for this long, or as long as the patience lasts. */
    void pauseFor(Duration duration) throws InterruptedException {
        parkUntil(this::isOver, duration);
    }

    private void parkUntil(BooleanSupplier condition, Duration atMost) throws InterruptedException {
        long until = ticker.nanoTime() + atMost.toNanos();
        for (long left = atMost.toNanos(); left > 0 && !condition.getAsBoolean(); left = until - ticker.nanoTime()) {
            park(Duration.ofNanos(left));
        }
    }

    /**
     * Waits until that is so, or the patience is over. Whoever makes it so unparks the thread.
     *
     * @return whether it is so
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    boolean await(BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            if (isOver()) {
                return false;
            }
            park(Duration.ofNanos(leftNanos()));
        }
        return true;
    }

    /**
     * Waits for a lock of this process until the patience is over for a decision.
     *
     * @return whether the calling thread has it
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    boolean lock(Lock lock) throws InterruptedException {
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
     * Takes the thread's interrupt, if it was interrupted: a connection pool fails then although the database is well.
     *
     * @return whether an uninterruptible call was interrupted, and should try again
     * @throws InterruptedException if the call is interruptible and its thread was interrupted
     */
    boolean takeInterrupt() throws InterruptedException {
        if (!Thread.interrupted()) {
            return false;
        }
        if (interrupts == Interrupts.THROWN) {
            throw new InterruptedException();
        }
        interrupted = true;
        return true;
    }

    /** Gives the thread back the interrupt that was put aside. */
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
