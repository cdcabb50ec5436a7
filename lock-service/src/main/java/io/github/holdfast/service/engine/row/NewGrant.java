package io.github.holdfast.service.engine.row;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.service.engine.node.Node;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A grant that this process has just got. */
public sealed interface NewGrant {

    Grant grant();

    /** The fencing token of its holder: that of the row, unless the row has the last one of a block. */
    default long token() {
        return grant().fencingToken();
    }

    /** Whether a previous holder in this process has had the same grant. */
    default boolean isRevived() {
        return false;
    }

    /** The node through which it is held; null if it has a lease. */
    @Nullable
    Node node();

    /** The local time from which its lease, or the node's lease, counts. */
    long validFrom();

    /** How long that lease lasts from then, if nothing prolongs it. */
    Duration validFor();

    /** The number of reconciliations that had begun before the attempt. */
    long reconciliations();

    /** How many permits of a semaphore; 0 if it is a lock. */
    int permits();

    /** Whether no earlier holder can have committed what a transaction under the grant must see. */
    boolean isFirst();

    /**
     * The grant of a lock.
     *
     * @param row the row as it was last written
     * @param isFirst whether this is the first grant since the row was created
     * @param runsSince the local time from which this process has kept the lock to its own threads, while others may wait
     * @param token the fencing token of its holder, at most that of the row
     * @param isRevived whether a previous holder in this process has had the same grant
     * @param clockDifference that of the local clocks before the grant was sent, if its row may be kept: they part in a suspension
     */
    record OfLock(
            LockEntity row,
            @Nullable Node node,
            long validFrom,
            Duration validFor,
            long reconciliations,
            boolean isFirst,
            long runsSince,
            long token,
            boolean isRevived,
            long clockDifference)
            implements NewGrant {

        /** The grant of a row that has the token of its holder. */
        public OfLock(
                LockEntity row,
                @Nullable Node node,
                long validFrom,
                Duration validFor,
                long reconciliations,
                boolean isFirst,
                long runsSince) {
            this(row, node, validFrom, validFor, reconciliations, isFirst, runsSince, row.fencingToken(), false, 0);
        }

        /** Whether its block has a token left, so that its row can be kept for the next holder in this process. */
        public boolean hasTokenLeft() {
            return token < row.fencingToken();
        }

        /** The same grant for the next holder in this process. The one before may have committed what that must see. */
        public OfLock next(LockEntity asWritten, long runsOnSince) {
            return new OfLock(
                    asWritten,
                    node,
                    validFrom,
                    validFor,
                    reconciliations,
                    false,
                    runsOnSince,
                    token + 1,
                    true,
                    clockDifference);
        }

        @Override
        public Grant grant() {
            return Grant.of(row);
        }

        @Override
        public int permits() {
            return 0;
        }
    }

    /**
     * The grant of a share: permits, or a shared lock.
     *
     * @param isFirst always true for permits: other holders have some at the same time, so a holder need not see what they commit
     */
    record OfShare(
            Grant grant,
            @Nullable Node node,
            long validFrom,
            Duration validFor,
            long reconciliations,
            int permits,
            boolean isFirst)
            implements NewGrant {}

    /**
     * How long a grant lasts that this process has just sent.
     *
     * @param node the node through which it is held; null if it has a lease
     * @param lease its lease; null if it is held through the node
     */
    static Duration lease(@Nullable Node node, @Nullable Duration lease) {
        return Objects.requireNonNull(node == null ? lease : node.lease(), "a grant has a node or a lease");
    }
}
