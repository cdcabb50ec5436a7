package io.github.holdfast.service;

import io.github.holdfast.entity.LockRun;
import io.github.holdfast.entity.RunStatus;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockRunRepository;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes down how a run ended. Only then may its lock be given back, or the next run would take this one for lost. While the
 * database does not answer, the lock is kept, and the service goes on trying.
 */
final class RunEnd {

    private static final Logger LOG = LoggerFactory.getLogger(RunEnd.class);

    private static final Duration LIMIT = Duration.ofSeconds(3);
    private static final Duration STATEMENT = Duration.ofSeconds(1);

    private final Internals internals;
    private final LockHandle lock;
    private final Grant grant;
    private final RunStatus status;
    private final @Nullable String error;

    /**
     * The end of a run that ends now.
     *
     * @param failure what the task threw; null if it returned
     */
    RunEnd(Internals internals, LockHandle lock, @Nullable Throwable failure) {
        this.internals = internals;
        this.lock = lock;
        this.grant = new Grant(lock.name(), lock.owner(), lock.fencingToken());
        LockState state = lock.state();
        boolean isHeld = state == LockState.HELD || state == LockState.SUSPECT;
        this.status = !isHeld ? RunStatus.LOST : failure == null ? RunStatus.SUCCEEDED : RunStatus.FAILED;
        this.error = failure == null ? null : ErrorSummary.of(failure);
    }

    /**
     * Does it. Not interruptible.
     *
     * @return what was written; empty if the database did not answer for some seconds: the lock is then given back as soon as
     *     it does
     */
    Optional<RunStatus> write() {
        try {
            return Optional.of(logged(Patience.uninterruptibly(
                    internals.ticker(),
                    LIMIT,
                    patience -> patience.repeat(
                            () -> internals.store().inTransaction(patience.forOneStatement(), this::attempt)))));
        } catch (StoreException failed) {
            lock.detach();
            if (failed.failure().isTransient()) {
                LogEvent.RUN_UNANSWERED
                        .of(grant.name(), LOG.atWarn())
                        .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                        .log(
                                "Task '{}' ran, but the database did not answer when that was to be written down: {}",
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

    /** As often as is needed: only the first write changes anything. */
    private RunStatus attempt() {
        LockRunRepository runs = internals.store().runs();
        if (status != RunStatus.LOST && runs.end(grant, status, error)) {
            return status;
        }
        boolean unused = runs.lose(grant.name(), grant.fencingToken(), error);
        return runs.read(grant.name(), grant.fencingToken())
                .map(LockRun::status)
                .orElse(RunStatus.LOST);
    }

    private RunStatus logged(RunStatus written) {
        if (written == RunStatus.LOST) {
            LockLog.runLost(grant.name(), grant.fencingToken());
        }
        return written;
    }

    private void again() {
        try {
            RunStatus written = logged(internals.store().inTransaction(STATEMENT, this::attempt));
            LogEvent.RUN_ENDED
                    .of(grant.name(), LOG.atInfo())
                    .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                    .log("The run {} of task '{}' has ended: {}", grant.fencingToken(), grant.name(), written);
            ReleaseOutcome unused = lock.release();
        } catch (StoreException failed) {
            putOff(failed);
        }
    }

    private void putOff(StoreException failed) {
        if (failed.failure().isTransient()) {
            LOG.debug("The end of a run of task '{}' is not written down yet", grant.name(), failed);
            internals.settler().later(this::again);
            return;
        }
        LogEvent.RUN_UNRECORDED
                .of(grant.name(), LOG.atWarn())
                .addKeyValue(LogEvent.TOKEN, grant.fencingToken())
                .log(
                        "The run {} of task '{}' ended ({}), but will be called lost, because the database refused to write that down: {}",
                        grant.fencingToken(),
                        grant.name(),
                        status,
                        failed.getMessage());
        ReleaseOutcome unused = lock.release();
    }
}
