package io.github.holdfast.faults.model.shares;

/** A statement, or a transaction, whose sender does not wait for it any more. It is executed at any later step, or never. */
sealed interface Late {

    /** A grant to a shared holder. */
    record SharedGrant(int owner, int node, int permits, LockRow seen, int used) implements Late {}

    /** A grant to one who has the lock alone. */
    record ExclusiveGrant(int owner, LockRow seen) implements Late {}

    /** A change of an exclusive hold to a share. */
    record Downgrade(int owner, LockRow seen) implements Late {}

    /** A renewal of a shared holder's lease. */
    record Renewal(int token, int owner) implements Late {}
}
