package io.github.holdfast.faults.model.shares;

/**
 * The row of a shared holder, {@code lock_holder}.
 *
 * @param node through which it holds, or {@link #NO_NODE}
 * @param left of its lease
 * @param pendingLeft what a renewal that is executed and not committed makes of {@code left}, or {@link #NONE}; the row is locked then
 */
record HolderRow(int token, int owner, int node, int permits, int left, int pendingLeft) {

    static final int NO_NODE = 0;
    static final int NONE = -1;

    static HolderRow added(int token, int owner, int node, int permits) {
        return new HolderRow(token, owner, node, permits, node == NO_NODE ? Scenario.LEASE : 0, NONE);
    }

    boolean isThroughNode() {
        return node != NO_NODE;
    }

    boolean isPending() {
        return pendingLeft != NONE;
    }

    boolean isOf(Hold hold) {
        return token == hold.token() && owner == hold.owner();
    }

    HolderRow renewed() {
        return new HolderRow(token, owner, node, permits, left, Scenario.LEASE);
    }

    HolderRow committed() {
        return new HolderRow(token, owner, node, permits, Math.max(left, pendingLeft), NONE);
    }

    HolderRow rolledBack() {
        return isPending() ? new HolderRow(token, owner, node, permits, left, NONE) : this;
    }

    HolderRow later() {
        return new HolderRow(
                token, owner, node, permits, Math.max(0, left - 1), isPending() ? Math.max(0, pendingLeft - 1) : NONE);
    }
}
