package io.github.holdfast.faults.model;

import io.github.holdfast.faults.model.Hold.Stage;
import org.jspecify.annotations.Nullable;

/**
 * A process with one lock service and one thread that uses it. Null is what is not there.
 *
 * @param settlement what it still has to end of an acquisition or a release, one at most
 */
record Service(
        @Nullable LocalNode node,
        @Nullable Beat beat,
        @Nullable Attempt attempt,
        @Nullable Hold hold,
        @Nullable Transaction transaction,
        @Nullable RowLock rowLock,
        @Nullable Settlement settlement) {

    static final Service STARTED = new Service(null, null, null, null, null, null, null);

    /** What it knows of its node: until when that lives by the local clock. */
    record LocalNode(int id, int left, int version) {}

    /**
     * A heartbeat under way.
     *
     * @param left how long the node lives if it is confirmed, counted from before it was sent
     * @param knowsHold whether it was sent when the hold was confirmed
     */
    record Beat(BeatPhase phase, int left, boolean knowsHold) {
        Beat in(BeatPhase other) {
            return new Beat(other, left, knowsHold);
        }
    }

    enum BeatPhase {
        SENT,
        EXECUTED,
        COMMITTED,
        MISSED
    }

    /**
     * A transaction under the hold, which reads data that it will overwrite.
     *
     * @param isGuarded whether the guard was passed, so that the row is locked, shared, until the transaction ends
     * @param isOvertaken whether somebody else has committed since it has read
     */
    record Transaction(boolean isGuarded, boolean isOvertaken) {}

    /** A row lock that is wanted or had: the version that was free, and whether somebody has committed since it was had. */
    record RowLock(RowPhase phase, int version, boolean isOvertaken) {
        static final RowLock LOOKING = new RowLock(RowPhase.LOOKING, 0, false);
    }

    enum RowPhase {
        LOOKING,
        FOUND_FREE,
        LOCKED
    }

    /** A row to be freed if this owner has it, and a version that is to be moved on, or {@link Attempt#NONE}. */
    record Settlement(int owner, int version) {}

    boolean isIdle() {
        return attempt == null && hold == null && rowLock == null;
    }

    boolean hasLivingNode() {
        return node != null && node.left() > 0;
    }

    /** Whether the user is told that the lock is held. */
    boolean believes() {
        return hasRowLocked() || (hold != null && !hold.isKept() && left(hold) > 0);
    }

    private int left(Hold held) {
        if (held.node() == LockRow.NO_NODE) {
            return held.left();
        }
        int nodeLeft = node != null && node.id() == held.node() ? node.left() : 0;
        if (held.stage() == Stage.LASTS_WITH_NODE) {
            return nodeLeft;
        }
        return Math.min(nodeLeft, held.left());
    }

    /** A hold as it begins: lost, if its node is no longer the one that this service has. */
    Hold onItsNode(Hold hold) {
        boolean isItsNode = hold.node() == LockRow.NO_NODE || (node != null && node.id() == hold.node());
        return isItsNode ? hold : hold.lost();
    }

    boolean hasRowLocked() {
        return rowLock != null && rowLock.phase() == RowPhase.LOCKED;
    }

    boolean isOvertaken() {
        return transaction != null && transaction.isOvertaken();
    }

    boolean hasGuardPassed() {
        return transaction != null && transaction.isGuarded();
    }

    Service with(@Nullable LocalNode other) {
        return new Service(other, beat, attempt, hold, transaction, rowLock, settlement);
    }

    Service with(@Nullable Beat other) {
        return new Service(node, other, attempt, hold, transaction, rowLock, settlement);
    }

    Service with(@Nullable Attempt other) {
        return new Service(node, beat, other, hold, transaction, rowLock, settlement);
    }

    Service with(@Nullable Hold other) {
        return new Service(node, beat, attempt, other, transaction, rowLock, settlement);
    }

    Service with(@Nullable Transaction other) {
        return new Service(node, beat, attempt, hold, other, rowLock, settlement);
    }

    Service with(@Nullable RowLock other) {
        return new Service(node, beat, attempt, hold, transaction, other, settlement);
    }

    Service with(@Nullable Settlement other) {
        return new Service(node, beat, attempt, hold, transaction, rowLock, other);
    }

    Service withoutAttempt() {
        return new Service(node, beat, null, hold, transaction, rowLock, settlement);
    }

    Service withoutBeat() {
        return new Service(node, null, attempt, hold, transaction, rowLock, settlement);
    }

    Service withoutNode() {
        return new Service(
                null,
                null,
                attempt,
                hold == null || hold.node() == LockRow.NO_NODE ? hold : hold.lost(),
                transaction,
                rowLock,
                settlement);
    }

    /** What it waits for on connections to a server that is gone has no answer. */
    Service disconnected() {
        return beat != null && beat.phase() == BeatPhase.EXECUTED ? withoutBeat() : this;
    }

    Service withoutHold() {
        return new Service(node, beat, attempt, null, transaction, rowLock, settlement);
    }

    Service withoutTransaction() {
        return new Service(node, beat, attempt, hold, null, rowLock, settlement);
    }

    Service withoutRowLock() {
        return new Service(node, beat, attempt, hold, transaction, null, settlement);
    }

    Service withoutSettlement() {
        return new Service(node, beat, attempt, hold, transaction, rowLock, null);
    }

    /** Somebody else has committed. */
    Service overtaken() {
        Transaction open = transaction == null ? null : new Transaction(transaction.isGuarded(), true);
        RowLock had =
                hasRowLocked() && rowLock != null ? new RowLock(rowLock.phase(), rowLock.version(), true) : rowLock;
        return new Service(node, beat, attempt, hold, open, had, settlement);
    }

    Service later() {
        return new Service(
                node == null ? null : new LocalNode(node.id(), Math.max(0, node.left() - 1), node.version()),
                beat == null ? null : new Beat(beat.phase(), Math.max(0, beat.left() - 1), beat.knowsHold()),
                attempt == null ? null : attempt.later(),
                hold == null ? null : hold.later(),
                transaction,
                rowLock,
                settlement);
    }
}
