package io.github.holdfast.faults.model;

/**
 * The row of a node. One that its service ended, or that was ended because its lease was over, has left its locks, and is left out.
 *
 * @param whereabouts where it is
 * @param left until others heed that its lease is over
 * @param pendingLeft what a beat that is executed and not committed makes of {@code left}, or {@link #NONE}; the row is locked then
 */
record NodeRow(int id, Whereabouts whereabouts, int left, int version, int pendingLeft) {

    static final int NONE = -1;

    enum Whereabouts {
        BESIDE_THE_LOCK,
        /** In another database than the lock's row, where its service alone finds it. */
        ELSEWHERE,
        /** Beside the lock, and ended by hand before its lease was over. */
        ENDED_BY_HAND,
        /** Deleted by hand. */
        DELETED
    }

    static NodeRow registered(int id, boolean isElsewhere, int lease) {
        return new NodeRow(id, isElsewhere ? Whereabouts.ELSEWHERE : Whereabouts.BESIDE_THE_LOCK, lease, 0, NONE);
    }

    boolean isElsewhere() {
        return whereabouts == Whereabouts.ELSEWHERE;
    }

    boolean isEnded() {
        return whereabouts == Whereabouts.ENDED_BY_HAND;
    }

    boolean isDeleted() {
        return whereabouts == Whereabouts.DELETED;
    }

    NodeRow changedByHand(Whereabouts other) {
        return new NodeRow(id, other, left, version + 1, NONE);
    }

    boolean isPending() {
        return pendingLeft != NONE;
    }

    /** The condition of the heartbeat's statement, which does not heed the tolerance: its own right ends with the lease. */
    boolean isBeatable(int ofVersion, int tolerance) {
        return !isEnded() && version == ofVersion && left > tolerance;
    }

    NodeRow beaten(int lease) {
        return new NodeRow(id, whereabouts, left, version, lease);
    }

    NodeRow committed() {
        return new NodeRow(id, whereabouts, pendingLeft, version + 1, NONE);
    }

    NodeRow rolledBack() {
        return new NodeRow(id, whereabouts, left, version, NONE);
    }

    NodeRow alerted() {
        return new NodeRow(id, whereabouts, left, version + 1, NONE);
    }

    NodeRow withVersion(int other) {
        return new NodeRow(id, whereabouts, left, other, pendingLeft);
    }

    NodeRow later() {
        return new NodeRow(
                id, whereabouts, Math.max(0, left - 1), version, isPending() ? Math.max(0, pendingLeft - 1) : NONE);
    }
}
