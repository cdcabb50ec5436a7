package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ProcessIdentity;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.WaiterThread;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Local time that passes only when a test lets it. */
public final class FakeTicker implements Ticker {

    private static final Duration LONGEST_STEP = Duration.ofMillis(10);

    private volatile long now = 1_000_000;
    private volatile long suspended;
    private boolean isKeptAsleep;
    private boolean keepsPace;
    private boolean passesWhileWaiting;
    private @Nullable SteppedBackground background;
    private int sleeping;
    private long sleeps;

    public synchronized void advance(Duration duration) {
        now = now + duration.toNanos();
    }

    /** The machine is suspended: the wall clock goes on, this one does not. Back, if the wall clock is set back. */
    public synchronized void suspend(Duration duration) {
        suspended = suspended + duration.toNanos();
    }

    /** The test moves the database's clock, too. */
    public FakeTicker keepingPace() {
        keepsPace = true;
        return this;
    }

    @Override
    public boolean keepsPace() {
        return keepsPace;
    }

    @Override
    public long nanoTime() {
        return now;
    }

    @Override
    public long wallNanos() {
        return now + suspended;
    }

    /** Gives this clock to a service. */
    public UnaryOperator<ServiceSettings> inSettings() {
        return settings -> settings.withTicker(this);
    }

    /**
     * From now on, time passes while a caller waits: at most ten times as fast as for the machine, so that the heartbeats, which
     * the machine's clock starts, are still in time.
     */
    public synchronized FakeTicker passingWhileCallersWait() {
        passesWhileWaiting = true;
        return this;
    }

    /** From now on, services do their work at intervals only when the test steps it. Call it before they are opened. */
    public SteppedBackground stepped() {
        background = new SteppedBackground(this);
        return background;
    }

    @Override
    public ScheduledExecutorService scheduler(String threadName) {
        SteppedBackground stepped = background;
        return stepped == null ? Ticker.super.scheduler(threadName) : stepped.scheduler();
    }

    /** From now on, threads that sleep do not wake. */
    public synchronized void keepAsleep() {
        isKeptAsleep = true;
    }

    public synchronized void letWake() {
        isKeptAsleep = false;
    }

    public synchronized int sleeping() {
        return sleeping;
    }

    /** How often threads have gone to sleep. */
    public synchronized long sleeps() {
        return sleeps;
    }

    /** Looks at the time that the test has set again and again. */
    @Override
    public synchronized void park(Object blocker, long nanos) {
        sleeping++;
        sleeps++;
        try {
            do {
                wait(1);
            } while (isKeptAsleep);
            if (passesWhileWaiting && blocker instanceof Deadline) {
                advance(Duration.ofNanos(Math.min(nanos, LONGEST_STEP.toNanos())));
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } finally {
            sleeping--;
        }
    }

    /** Settings for tests of engines, without housekeeping. */
    public static ServiceSettings settings(ServiceSettings.WakeUp wakeUp, Ticker ticker, LockListener... listeners) {
        return new ServiceSettings(
                "",
                Duration.ofSeconds(30),
                Duration.ZERO,
                Duration.ZERO,
                List.of(listeners),
                null,
                Duration.ofDays(7),
                1,
                ServiceSettings.Writers.AS_THE_DATABASE_ALLOWS,
                wakeUp,
                null,
                null,
                ticker);
    }

    /** An engine for tests in which nothing is read or written. */
    @SuppressWarnings("NullAway")
    public LockEngine engineWithoutStore(LockListener... listeners) {
        ServiceSettings settings = settings(ServiceSettings.WakeUp.BY_POLLING, this, listeners);
        return new LockEngine(() -> new EngineComponents(
                null, null, settings, new ProcessIdentity(""), null, null, new WaiterThread("holdfast-waiters")));
    }
}
