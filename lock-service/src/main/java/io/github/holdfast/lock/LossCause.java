package io.github.holdfast.lock;

/** The cause of the loss of a lock. */
public enum LossCause {
    /** The lease, or the lease of the node, ended: the process was paused, or the work took longer than the lease. */
    EXPIRED("its lease expired"),

    /** Another owner got the lock, or another process took it from its holder: a transaction's check cannot distinguish these. */
    TAKEN_OVER("its row no longer belongs to its holder"),

    /** {@link io.github.holdfast.service.LockAdmin#forceRelease} released the lock by force. */
    FORCED("it was released by force"),

    /** The database did not answer the node's heartbeats until the node's lease expired. */
    DATABASE_UNREACHABLE("the database did not answer before the node's lease ended"),

    /** The connection of a row lock broke. Its transaction had the lock's row locked. */
    DISCONNECTED("the connection of its row lock broke"),

    /** The lock service was closed while the lock was held. */
    SERVICE_CLOSED("the lock service was closed");

    private final String why;

    LossCause(String why) {
        this.why = why;
    }

    /** Returns the cause in words, for a message. */
    public String why() {
        return why;
    }
}
