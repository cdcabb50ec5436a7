package io.github.holdfast.faults.model;

import org.jspecify.annotations.Nullable;

/**
 * What was granted and committed so far, as far as it takes to see whether the next one is right.
 *
 * @param broken the invariant that the last step has broken; null if none
 */
record Ledger(
        int highestGrant,
        int highestGiven,
        int highestCommit,
        @Nullable Invariant broken) {

    static final Ledger EMPTY = new Ledger(-1, -1, -1, null);

    /** A grant was committed where no failover undoes it. */
    Ledger granted(int token) {
        return new Ledger(
                Math.max(highestGrant, token),
                highestGiven,
                highestCommit,
                token > highestGrant ? broken : Invariant.TOKENS_INCREASE);
    }

    /** A grant that was committed on the primary alone has got to the standby, or had before. */
    Ledger confirmed(int token) {
        return new Ledger(Math.max(highestGrant, token), highestGiven, highestCommit, broken);
    }

    /** A hold has got this token, of the block of its grant. */
    Ledger given(int token) {
        return new Ledger(
                highestGrant,
                Math.max(highestGiven, token),
                highestCommit,
                token > highestGiven ? broken : Invariant.TOKENS_INCREASE);
    }

    /** A transaction under this token, or under a row lock while the row had it, has committed. */
    Ledger committed(int token, boolean isOvertaken) {
        Invariant now = token < highestCommit
                ? Invariant.GUARDED_COMMITS_IN_ORDER
                : isOvertaken ? Invariant.NO_LOST_UPDATE : broken;
        return new Ledger(highestGrant, highestGiven, Math.max(highestCommit, token), now);
    }
}
