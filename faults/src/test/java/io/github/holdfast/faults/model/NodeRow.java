package io.github.holdfast.faults.model;

/**
 * The row of a node that was not ended; one that was ended is judged as if it were absent, and is left out.
 *
 * @param left until its lease is over
 * @param pendingLeft what a beat that is executed and not committed makes of {@code left}, or {@link #NONE}; the row is locked then
 */
record NodeRow(int id, int left, int version, int pendingLeft) {

    static final int NONE = -1;

    static NodeRow registered(int id) {
        return new NodeRow(id, Scenario.LEASE, 0, NONE);
    }

    boolean isPending() {
        return pendingLeft != NONE;
    }

    /** The condition of the heartbeat's statement. */
    boolean isBeatable(int ofVersion) {
        return version == ofVersion && left > 0;
    }

    NodeRow beaten() {
        return new NodeRow(id, left, version, Scenario.LEASE);
    }

    NodeRow committed() {
        return new NodeRow(id, pendingLeft, version + 1, NONE);
    }

    NodeRow rolledBack() {
        return new NodeRow(id, left, version, NONE);
    }

    NodeRow alerted() {
        return new NodeRow(id, left, version + 1, NONE);
    }

    NodeRow withVersion(int other) {
        return new NodeRow(id, left, other, pendingLeft);
    }

    NodeRow later() {
        return new NodeRow(id, Math.max(0, left - 1), version, isPending() ? Math.max(0, pendingLeft - 1) : NONE);
    }
}
