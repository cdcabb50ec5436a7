package io.github.holdfast.faults.model.shares;

import org.jspecify.annotations.Nullable;

/**
 * What was granted so far, as far as it takes to see whether the next step is right.
 *
 * @param highestGrant the greatest token
 * @param highestAlone the greatest token of an exclusive grant
 * @param broken the promise that the last step has broken; null if none
 */
record Ledger(int highestGrant, int highestAlone, @Nullable Promise broken) {

    static final Ledger EMPTY = new Ledger(0, 0, null);

    Ledger shared(int token) {
        return new Ledger(Math.max(highestGrant, token), highestAlone, orBroken(token));
    }

    Ledger alone(int token) {
        return new Ledger(Math.max(highestGrant, token), Math.max(highestAlone, token), orBroken(token));
    }

    private @Nullable Promise orBroken(int token) {
        return token > highestGrant ? broken : Promise.TOKENS_INCREASE;
    }

    /** A grant that only one server had is on all of them now. */
    Ledger confirmed(int token) {
        return new Ledger(Math.max(highestGrant, token), highestAlone, broken);
    }

    /** A transaction under this hold has committed. A shared hold excludes only those who want the lock alone. */
    Ledger committed(Hold hold) {
        int next = hold.isShared() ? highestAlone : highestGrant;
        return hold.token() < next ? new Ledger(highestGrant, highestAlone, Promise.FENCE) : this;
    }
}
