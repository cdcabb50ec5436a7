package io.github.holdfast.service;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
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

    /** A poll costs half of it on average between a release and the next grant, and one statement each time. */
    private static final Duration LONGEST_PAUSE = Duration.ofMillis(50);

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

    Duration elapsed() {
        return Duration.ofNanos(ticker.nanoTime() - startedAt);
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
     * Pauses before the next attempt.
     *
     * @param atMost after which time it is worth another look in any case, null if that is not known
     * @throws InterruptedException if the call is interruptible and its thread was interrupted; never otherwise
     */
    void pause(@Nullable Duration atMost) throws InterruptedException {
        long jittered = ThreadLocalRandom.current().nextLong(nextPause.toNanos() / 2, nextPause.toNanos() + 1);
        nextPause = shorter(nextPause.multipliedBy(2), LONGEST_PAUSE);
        // Once the time is over, attempts go on only to reach a decision, with the same pauses.
        long left = leftNanos() <= 0 ? Long.MAX_VALUE : leftNanos();
        Duration pause = Duration.ofNanos(Math.min(jittered, left));
        try {
            ticker.sleep(atMost == null ? pause : shorter(pause, atMost));
        } catch (InterruptedException thrown) {
            if (interrupts == Interrupts.THROWN) {
                throw thrown;
            }
            interrupted = true;
        }
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
