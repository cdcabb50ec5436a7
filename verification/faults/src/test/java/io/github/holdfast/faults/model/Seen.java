package io.github.holdfast.faults.model;

import org.jspecify.annotations.Nullable;

/**
 * What one reading statement sees: the row and its node as they were when the statement began, judged by the clock when it is
 * evaluated, which may be later.
 *
 * @param row null if there is none
 * @param nodeLeft until others heed that the lease of the row's node is over; {@link #GONE} if the node has left its locks. A lock of a
 *     node without a row is left a lease after the grant
 */
record Seen(@Nullable LockRow row, int nodeLeft) {

    static final int GONE = -1;

    /** What the row says to one who wants the lock. */
    enum Standing {
        MISSING,
        FREE,
        DELAYED,
        MINE,
        HELD,
        NODE_OVERDUE
    }

    static Seen of(Database db) {
        LockRow row = db.row();
        return new Seen(row, row == null ? GONE : nodeLeft(db, row));
    }

    private static int nodeLeft(Database db, LockRow row) {
        if (db.isDeleted(row.node())) {
            return row.leaseLeft() == 0 ? GONE : row.leaseLeft();
        }
        return db.nodeBesideTheLock(row.node())
                .filter(node -> !node.isEnded() || node.left() > 0)
                .map(NodeRow::left)
                .orElse(GONE);
    }

    /** @param tolerance for how long a lease is over before others heed that; nobody's right reaches into it */
    Standing standing(int claimant, int tolerance) {
        LockRow seen = row;
        if (seen == null) {
            return Standing.MISSING;
        }
        boolean isThroughNode = seen.node() != LockRow.NO_NODE;
        boolean isOver = isThroughNode ? nodeLeft == GONE : seen.leaseLeft() == 0;
        if (seen.owner() == LockRow.NOBODY || isOver) {
            return seen.unavailableFor() == 0 ? Standing.FREE : Standing.DELAYED;
        }
        if (isThroughNode && nodeLeft == 0) {
            return Standing.NODE_OVERDUE;
        }
        return seen.owner() == claimant && timeUntilOver(tolerance) > 0 ? Standing.MINE : Standing.HELD;
    }

    /** How long the hold that the row shows lasts, unless it is renewed. */
    int timeUntilOver(int tolerance) {
        return Math.max(0, timeUntilFree() - tolerance);
    }

    /** How long it keeps others out. */
    int timeUntilFree() {
        LockRow seen = row;
        if (seen == null) {
            return 0;
        }
        return seen.node() == LockRow.NO_NODE ? seen.leaseLeft() : Math.max(0, nodeLeft);
    }

    Seen later() {
        return new Seen(row == null ? null : row.later(), nodeLeft == GONE ? GONE : Math.max(0, nodeLeft - 1));
    }
}
