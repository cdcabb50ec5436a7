package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A handle of a hold. It releases the hold once. Thread-safe. */
abstract class HoldHandle implements LockHandle {

    private volatile @Nullable ReleaseOutcome outcome;

    /** The state of the hold, which may have other handles. */
    abstract LockState stateOfHold();

    /** How long the hold lasts. */
    abstract Duration remainingOfHold();

    /** The exception for the caller of {@link #close}, if the hold was lost; empty if there is nothing to report. */
    abstract Optional<LockLostException> loss();

    /** The outcome of this handle's release; null before it. */
    @Nullable
    ReleaseOutcome outcome() {
        return outcome;
    }

    /** Notes the outcome of this handle's release. Only the hold calls this, while it blocks other releases. */
    void released(ReleaseOutcome ofRelease) {
        outcome = ofRelease;
    }

    @Override
    public LockState state() {
        return outcome == null ? stateOfHold() : LockState.RELEASED;
    }

    @Override
    public Duration remaining() {
        return outcome == null ? remainingOfHold() : Duration.ZERO;
    }

    @Override
    public void close() {
        boolean wasReleased = outcome != null;
        if (release() == ReleaseOutcome.LOST && !wasReleased) {
            loss().ifPresent(lost -> {
                throw lost;
            });
        }
    }

    void checkNotReleased() {
        if (outcome != null) {
            throw new IllegalStateException("The handle of lock '" + name() + "' was released");
        }
    }
}
