package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** Settles commits that the server has not received when their calls fail ({@link Fault#DELAYED}). */
final class LateCommits implements AutoCloseable {

    /** What becomes of a late commit. Until then, its transaction has its rows locked. */
    enum Fate {
        LANDS_SOON,
        SINKS_SOON,
        LANDS_AFTER_THE_CALL
    }

    private final FaultyDataSource faults;
    private final ScheduledExecutorService network =
            Executors.newSingleThreadScheduledExecutor(Daemons.named("network"));

    LateCommits(FaultyDataSource faults) {
        this.faults = faults;
    }

    /** Makes a call, and sees to it that each of its late commits has this fate. */
    <T> T settling(Fate fate, Callable<T> call) throws Exception {
        if (fate == Fate.LANDS_AFTER_THE_CALL) {
            try {
                return call.call();
            } finally {
                settle(fate);
            }
        }
        Future<?> settling = network.scheduleWithFixedDelay(() -> settle(fate), 0, 5, TimeUnit.MILLISECONDS);
        try {
            return call.call();
        } finally {
            assertThat(settling).as("what settles late commits").isNotDone();
            settling.cancel(false);
            settle(fate);
        }
    }

    private void settle(Fate fate) {
        try {
            if (fate == Fate.SINKS_SOON) {
                faults.sink();
            } else {
                faults.land();
            }
        } catch (IllegalStateException nothingIsLate) {
            // The fault was another one, or not at a commit.
        } catch (SQLException refused) {
            throw new AssertionError("The late commit failed", refused);
        }
    }

    @Override
    public void close() {
        network.shutdownNow();
    }
}
