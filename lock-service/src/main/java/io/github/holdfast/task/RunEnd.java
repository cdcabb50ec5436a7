package io.github.holdfast.task;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockRunRepository;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.runtime.LogEvent;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Records the end of a run. The lock of the run may be released only after that. Otherwise the next run could find this one
 * unfinished under a free lock, and mark it as lost. While the database does not answer, the service keeps the lock and tries
 * again.
 */
final class RunEnd {

    private static final Logger LOG = LoggerFactory.getLogger(RunEnd.class);

    private static final Duration LIMIT = Duration.ofSeconds(3);
    private static final Duration STATEMENT = Duration.ofSeconds(1);

    private final LockEngine engine;
    private final LockHandle lock;
    private final Grant grant;
    private final LockRun.Status status;
    private final @Nullable String error;

    /**
     * Determines the status of a run that ends now.
     *
     * @param failure the exception of the task; null if the task returned
     */
    RunEnd(LockEngine engine, LockHandle lock, @Nullable Throwable failure) {
        this.engine = engine;
        this.lock = lock;
        this.grant = new Grant(Grant.Kind.LOCK, lock.name(), lock.owner(), lock.fencingToken());
        LockState state = lock.state();
        boolean isHeld = state == LockState.HELD || state == LockState.SUSPECT;
        this.status =
                !isHeld ? LockRun.Status.LOST : failure == null ? LockRun.Status.SUCCEEDED : LockRun.Status.FAILED;
        this.error = failure == null ? null : ErrorSummary.of(failure);
    }

    /**
     * Writes the record. Not interruptible.
     *
     * @return the recorded status; empty if nothing is recorded yet. If the database refused the record, the lock is already
     *     released. If the database did not answer for some seconds, the lock is released after it answers
     */
    Optional<LockRun.Status> write() {
        try {
            return Optional.of(logged(engine.untilAnswered(LIMIT, this::attempt)));
        } catch (StoreException failed) {
            lock.detach();
            if (failed.failure().isTransient()) {
                LogEvent.RUN_UNANSWERED
                        .of(grant.name(), LOG.atWarn())
                        .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                        .log(
                                "Task '{}' ran, but the database did not answer when its end was recorded: {}",
                                grant.name(),
                                failed.getMessage());
            }
            putOff(failed);
            return Optional.empty();
        } catch (RuntimeException | Error broken) {
            ReleaseOutcome unused = lock.release();
            throw broken;
        }
    }

    /** Safe to repeat: only the first write changes anything. */
    private LockRun.Status attempt() {
        LockRunRepository runs = engine.store().runs();
        if (status != LockRun.Status.LOST && runs.end(grant, status, error)) {
            return status;
        }
        boolean unused = runs.lose(grant.name(), grant.fencingToken(), error);
        return runs.read(grant.name(), grant.fencingToken())
                .map(LockRun::status)
                .orElse(LockRun.Status.LOST);
    }

    /** Logs that a run is lost. */
    static void logLost(String task, long fencingToken) {
        LogEvent.runLost(LOG, task, fencingToken);
    }

    private LockRun.Status logged(LockRun.Status written) {
        if (written == LockRun.Status.LOST) {
            logLost(grant.name(), grant.fencingToken());
        }
        return written;
    }

    private void again() {
        try {
            LockRun.Status written = logged(engine.store().inTransaction(STATEMENT, this::attempt));
            LogEvent.RUN_ENDED
                    .of(grant.name(), LOG.atInfo())
                    .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                    .log("Recorded the end of run {} of task '{}': {}", grant.fencingToken(), grant.name(), written);
            ReleaseOutcome unused = lock.release();
        } catch (StoreException failed) {
            putOff(failed);
        } catch (RuntimeException | Error broken) {
            ReleaseOutcome unused = lock.release();
            throw broken;
        }
    }

    private void putOff(StoreException failed) {
        if (failed.failure().isTransient()) {
            LOG.debug("The end of a run of task '{}' is not recorded yet", grant.name(), failed);
            engine.later(this::again);
            return;
        }
        LogEvent.RUN_UNRECORDED
                .of(grant.name(), LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                .log(
                        "Run {} of task '{}' ended ({}), but will be marked as lost, because the database refused to"
                                + " record its end: {}",
                        grant.fencingToken(),
                        grant.name(),
                        status,
                        failed.getMessage());
        ReleaseOutcome unused = lock.release();
    }
}
