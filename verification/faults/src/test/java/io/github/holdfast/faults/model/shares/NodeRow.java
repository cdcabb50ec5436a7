package io.github.holdfast.faults.model.shares;

/**
 * The row of a node that was not ended, {@code lock_node}.
 *
 * @param pendingLeft what a beat that is executed and not committed makes of {@code left}, or {@link #NONE}; the row is locked then
 */
record NodeRow(int id, int left, int pendingLeft) {

    static final int NONE = -1;

    static NodeRow registered(int id) {
        return new NodeRow(id, Scenario.LEASE, NONE);
    }

    boolean isPending() {
        return pendingLeft != NONE;
    }

    boolean isOverdue() {
        return left == 0;
    }

    NodeRow beaten() {
        return new NodeRow(id, left, Scenario.LEASE);
    }

    NodeRow committed() {
        return new NodeRow(id, Math.max(left, pendingLeft), NONE);
    }

    NodeRow rolledBack() {
        return isPending() ? new NodeRow(id, left, NONE) : this;
    }

    NodeRow later() {
        return new NodeRow(id, Math.max(0, left - 1), isPending() ? Math.max(0, pendingLeft - 1) : NONE);
    }
}
