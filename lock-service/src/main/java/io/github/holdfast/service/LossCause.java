package io.github.holdfast.service;

/** Why a lock was lost. */
public enum LossCause {
    /** The lease was over, or that of the node: the process was paused, or the work took longer than the lease. */
    EXPIRED("its lease is over"),

    /** Somebody else was granted the lock, or it was taken away; a transaction's check cannot tell by whom. */
    TAKEN_OVER("its row went to somebody else"),

    /** It was released by force, through {@link LockAdmin#forceRelease}. */
    FORCED("it was released by force"),

    /** The database did not answer the node's heartbeats until the node's lease was over. */
    DATABASE_UNREACHABLE("the database did not answer until the lease of the node was over"),

    /** The connection broke whose transaction had the lock's row locked. */
    DISCONNECTED("the connection that had its row locked broke"),

    /** The lock service was closed while the lock was held. */
    SERVICE_CLOSED("the lock service was closed");

    private final String why;

    LossCause(String why) {
        this.why = why;
    }

    String why() {
        return why;
    }
}
