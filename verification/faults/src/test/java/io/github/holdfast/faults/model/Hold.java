package io.github.holdfast.faults.model;

/**
 * What a service believes to hold by a lease lock.
 *
 * @param node through which, or {@link LockRow#NO_NODE}
 * @param left how long it is valid by itself; zero once it is known to be lost
 * @param stage how it depends on its node
 */
record Hold(int owner, int token, int node, int left, Stage stage) {

    enum Stage {
        /** A reconciliation may have missed it. */
        UNCONFIRMED,
        /** The grant was seen to stand when every reconciliation could see the hold. */
        CONFIRMED,
        /** A beat was confirmed that was sent after that: it lasts as long as its node. */
        LASTS_WITH_NODE
    }

    Hold in(Stage other) {
        return new Hold(owner, token, node, left, other);
    }

    Hold lost() {
        return new Hold(owner, token, node, 0, Stage.CONFIRMED);
    }

    Hold later() {
        return new Hold(owner, token, node, Math.max(0, left - 1), stage);
    }
}
