package io.github.holdfast.faults.model;

import org.jspecify.annotations.Nullable;

/**
 * An outermost acquisition of a lease lock that is under way.
 *
 * @param owner made for this acquisition
 * @param node through which the lock is to be held, or {@link LockRow#NO_NODE} for a lease
 * @param unanswered the version that the last unanswered grant was decided on, or {@link #NONE}
 * @param doubtful the greatest token of its unanswered grants; zero if there are none
 * @param seen in phases SEEN and ADOPTING
 * @param grant from phase DECIDED on; in phase ENDING what is granted after the end, if that is not looked at
 * @param validFor how long the hold will be valid, counted from before the grant was sent
 * @param wasMissed whether a reconciliation has begun since the grant was decided
 */
record Attempt(
        int owner,
        int node,
        Phase phase,
        int unanswered,
        int doubtful,
        @Nullable Seen seen,
        @Nullable Grant grant,
        int validFor,
        boolean wasMissed) {

    static final int NONE = -1;

    enum Phase {
        /** About to read. */
        LOOKING,
        /** The reading statement has its snapshot, and has not looked at the clock. */
        SEEN,
        /** The row was the own one, from a grant without an answer, and is to be written again. */
        ADOPTING,
        /** The lock's node was overdue, and is to be ended. */
        ENDING,
        /** The lock was free, and the grant is not sent. */
        DECIDED,
        /** The grant is on its way. */
        SENT,
        /** The grant is done, and the answer is on its way. */
        GRANTED
    }

    static Attempt begun(int owner) {
        return new Attempt(owner, LockRow.NO_NODE, Phase.LOOKING, NONE, 0, null, null, 0, false);
    }

    Attempt looking() {
        return new Attempt(owner, node, Phase.LOOKING, unanswered, doubtful, null, null, 0, false);
    }

    /** A write that was decided on this version had no answer, and may have left this token with the owner. */
    Attempt looking(int unansweredVersion, int itsToken) {
        int greatest = Math.max(doubtful, itsToken);
        return new Attempt(owner, node, Phase.LOOKING, unansweredVersion, greatest, null, null, 0, false);
    }

    Attempt seen(Seen snapshot, int through) {
        return new Attempt(owner, through, Phase.SEEN, unanswered, doubtful, snapshot, null, 0, false);
    }

    Attempt adopting() {
        return new Attempt(owner, node, Phase.ADOPTING, unanswered, doubtful, seen, null, 0, wasMissed);
    }

    Attempt ending(Grant afterwards) {
        return new Attempt(owner, node, Phase.ENDING, unanswered, doubtful, null, afterwards, 0, wasMissed);
    }

    Attempt decided(Grant decided) {
        return new Attempt(owner, node, Phase.DECIDED, unanswered, doubtful, null, decided, 0, wasMissed);
    }

    Attempt sent(Grant sent) {
        return new Attempt(owner, node, Phase.SENT, unanswered, doubtful, null, sent, Scenario.LEASE, wasMissed);
    }

    Attempt granted() {
        return new Attempt(owner, node, Phase.GRANTED, unanswered, doubtful, null, grant, validFor, wasMissed);
    }

    Attempt missed() {
        return new Attempt(owner, node, phase, unanswered, doubtful, seen, grant, validFor, phase != Phase.LOOKING);
    }

    Attempt later() {
        return new Attempt(
                owner,
                node,
                phase,
                unanswered,
                doubtful,
                seen == null ? null : seen.later(),
                grant == null ? null : grant.later(),
                Math.max(0, validFor - 1),
                wasMissed);
    }
}
