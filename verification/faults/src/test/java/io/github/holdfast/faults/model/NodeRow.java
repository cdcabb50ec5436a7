package io.github.holdfast.faults.model;

/**
 * The row of a node that was not ended; one that was ended is judged as if it were absent, and is left out.
 *
 * @param isElsewhere whether it is in another database than the lock's row, where its service alone finds it
 * @param left until others heed that its lease is over
 * @param pendingLeft what a beat that is executed and not committed makes of {@code left}, or {@link #NONE}; the row is locked then
 */
record NodeRow(int id, boolean isElsewhere, int left, int version, int pendingLeft) {

    static final int NONE = -1;

    static NodeRow registered(int id, boolean isElsewhere, int lease) {
        return new NodeRow(id, isElsewhere, lease, 0, NONE);
    }

    boolean isPending() {
        return pendingLeft != NONE;
    }

    /** The condition of the heartbeat's statement, which does not heed the tolerance: its own right ends with the lease. */
    boolean isBeatable(int ofVersion, int tolerance) {
        return version == ofVersion && left > tolerance;
    }

    NodeRow beaten(int lease) {
        return new NodeRow(id, isElsewhere, left, version, lease);
    }

    NodeRow committed() {
        return new NodeRow(id, isElsewhere, pendingLeft, version + 1, NONE);
    }

    NodeRow rolledBack() {
        return new NodeRow(id, isElsewhere, left, version, NONE);
    }

    NodeRow alerted() {
        return new NodeRow(id, isElsewhere, left, version + 1, NONE);
    }

    NodeRow withVersion(int other) {
        return new NodeRow(id, isElsewhere, left, other, pendingLeft);
    }

    NodeRow later() {
        return new NodeRow(
                id, isElsewhere, Math.max(0, left - 1), version, isPending() ? Math.max(0, pendingLeft - 1) : NONE);
    }
}
