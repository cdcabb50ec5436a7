package io.github.holdfast.faults.model.shares;

import org.jspecify.annotations.Nullable;

/**
 * A process with one thread that acquires. Null is what is not there.
 *
 * @param settlement what it still has to end of an acquisition or a release, one at most
 */
record Service(
        @Nullable LocalNode node,
        @Nullable Attempt attempt,
        @Nullable Hold hold,
        @Nullable Settlement settlement) {

    static final Service STARTED = new Service(null, null, null, null);

    /**
     * What it knows of its node.
     *
     * @param left until when that lives by the local clock
     * @param beatenLeft how long it will live when the beat under way is answered, or {@link #NONE}
     */
    record LocalNode(int id, int left, int beatenLeft) {

        static final int NONE = -1;

        boolean isBeating() {
            return beatenLeft != NONE;
        }

        LocalNode later() {
            return new LocalNode(id, Math.max(0, left - 1), isBeating() ? Math.max(0, beatenLeft - 1) : NONE);
        }
    }

    /**
     * A hold to be given back if this owner has it.
     *
     * @param version what an unanswered grant was based on, which is to become impossible; {@link #NONE} if there is none
     */
    record Settlement(int owner, int version) {
        static final int NONE = -1;
    }

    boolean isIdle() {
        return attempt == null && hold == null;
    }

    boolean hasLivingNode() {
        return node != null && node.left() > 0;
    }

    int nodeId() {
        return node == null ? HolderRow.NO_NODE : node.id();
    }

    /** Whether the user is told that the hold is valid. */
    boolean believes() {
        if (hold == null) {
            return false;
        }
        return hold.node() == HolderRow.NO_NODE ? hold.left() > 0 : hasLivingNode() && nodeId() == hold.node();
    }

    Service with(LocalNode other) {
        return new Service(other, attempt, hold, settlement);
    }

    Service with(Attempt other) {
        return new Service(node, other, hold, settlement);
    }

    Service with(Settlement other) {
        return new Service(node, attempt, hold, other);
    }

    Service with(Hold other) {
        return new Service(node, attempt, other, settlement);
    }

    /** The acquisition has ended with this hold. */
    Service holding(Hold begun) {
        return new Service(node, null, begun, settlement);
    }

    Service withoutAttempt() {
        return new Service(node, null, hold, settlement);
    }

    Service withoutHold() {
        return new Service(node, attempt, null, settlement);
    }

    Service withoutSettlement() {
        return new Service(node, attempt, hold, null);
    }

    Service later() {
        return new Service(
                node == null ? null : node.later(),
                attempt == null ? null : attempt.later(),
                hold == null ? null : hold.later(),
                settlement);
    }
}
