package io.github.holdfast.faults.model;

/**
 * What a service believes to hold by a lease lock, or keeps after it has released it.
 *
 * @param token what the row shows: the last one of its block
 * @param node through which, or {@link LockRow#NO_NODE}
 * @param left how long it is valid by itself; zero once it is known to be lost
 * @param stage how it depends on its node
 * @param spare how many tokens of its block are left
 * @param isKept whether it was released, and its row is kept
 */
record Hold(int owner, int token, int node, int left, Stage stage, int spare, boolean isKept) {

    enum Stage {
        /** A reconciliation may have missed it. */
        UNCONFIRMED,
        /** The grant was seen to stand when every reconciliation could see the hold. */
        CONFIRMED,
        /** A beat was confirmed that was sent after that: it lasts as long as its node. */
        LASTS_WITH_NODE
    }

    static Hold granted(int owner, int token, int node, int left, Stage stage, int spare) {
        return new Hold(owner, token, node, left, stage, spare, false);
    }

    /** The token that its handle has. */
    int given() {
        return token - spare;
    }

    Hold in(Stage other) {
        return new Hold(owner, token, node, left, other, spare, isKept);
    }

    Hold lost() {
        return new Hold(owner, token, node, 0, Stage.CONFIRMED, spare, isKept);
    }

    Hold kept() {
        return new Hold(owner, token, node, left, stage, spare, true);
    }

    Hold later() {
        return new Hold(owner, token, node, Math.max(0, left - 1), stage, spare, isKept);
    }
}
