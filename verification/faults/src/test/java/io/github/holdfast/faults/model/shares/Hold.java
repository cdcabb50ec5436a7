package io.github.holdfast.faults.model.shares;

import io.github.holdfast.faults.model.shares.Scenario.Mode;

/**
 * What a service believes to hold.
 *
 * @param node through which, or {@link HolderRow#NO_NODE}
 * @param left how long its lease is valid; zero once it is known to be lost
 * @param renewedLeft how long it will be valid when the renewal under way is answered, or {@link #NONE}
 * @param isGuarded whether a transaction has passed the guard, so that the row is locked until its commit
 */
record Hold(Mode mode, int owner, int token, int node, int permits, int left, int renewedLeft, boolean isGuarded) {

    static final int NONE = -1;

    static Hold begun(Mode mode, int owner, int token, int node, int permits, int left) {
        return new Hold(mode, owner, token, node, permits, left, NONE, false);
    }

    static Hold of(HolderRow row, int left) {
        return begun(Mode.SHARED, row.owner(), row.token(), row.node(), row.permits(), left);
    }

    boolean isShared() {
        return mode == Mode.SHARED;
    }

    boolean isRenewing() {
        return renewedLeft != NONE;
    }

    Hold renewing() {
        return new Hold(mode, owner, token, node, permits, left, Scenario.LEASE, isGuarded);
    }

    Hold renewed() {
        return new Hold(mode, owner, token, node, permits, Math.max(left, renewedLeft), NONE, isGuarded);
    }

    Hold notRenewed() {
        return new Hold(mode, owner, token, node, permits, left, NONE, isGuarded);
    }

    Hold lost() {
        return new Hold(mode, owner, token, node, permits, 0, NONE, isGuarded);
    }

    Hold guarded() {
        return new Hold(mode, owner, token, node, permits, left, renewedLeft, true);
    }

    Hold committed() {
        return new Hold(mode, owner, token, node, permits, left, renewedLeft, false);
    }

    Hold later() {
        return new Hold(
                mode,
                owner,
                token,
                node,
                permits,
                Math.max(0, left - 1),
                isRenewing() ? Math.max(0, renewedLeft - 1) : NONE,
                isGuarded);
    }
}
