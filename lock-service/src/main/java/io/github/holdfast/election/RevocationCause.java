package io.github.holdfast.election;

import io.github.holdfast.lock.LossCause;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Why a leadership has ended. */
public enum RevocationCause {
    /** The node has given up the leadership: {@link LeaderElection#resign}, or the election or its service was closed. */
    RESIGNED("this node resigned"),

    /** {@link LeaderCallbacks#onGranted} threw an exception. */
    FAILED("its callback failed"),

    /** The heartbeat was overdue, and the election {@linkplain ElectionRequest#stepDownWhenSuspect steps down} then. */
    SUSPECT("its heartbeat is overdue"),

    /** The lease of the node ended, because the process was paused. */
    EXPIRED(LossCause.EXPIRED),

    /** Another node got the lock. The check of a transaction has noticed it. */
    TAKEN_OVER(LossCause.TAKEN_OVER),

    /** {@link io.github.holdfast.service.LockAdmin#forceRelease} released the lock by force. */
    FORCED(LossCause.FORCED),

    /** The database did not answer the node's heartbeats until the lease of the node expired. */
    DATABASE_UNREACHABLE(LossCause.DATABASE_UNREACHABLE);

    private final String why;
    private final @Nullable LossCause loss;

    RevocationCause(String why) {
        this.why = why;
        this.loss = null;
    }

    RevocationCause(LossCause loss) {
        this.why = loss.why();
        this.loss = loss;
    }

    static RevocationCause of(LossCause cause) {
        return switch (cause) {
            case EXPIRED -> EXPIRED;
            case FORCED -> FORCED;
            case DATABASE_UNREACHABLE -> DATABASE_UNREACHABLE;
            case SERVICE_CLOSED -> RESIGNED;
            // Only a row lock is disconnected, and that is not the lock of an election.
            case TAKEN_OVER, DISCONNECTED -> TAKEN_OVER;
        };
    }

    /** Returns why the lock was lost; empty if this node has ended the leadership itself, and so lets others go first. */
    Optional<LossCause> loss() {
        return Optional.ofNullable(loss);
    }

    /** Returns the cause in words, for a message. */
    public String why() {
        return why;
    }
}
