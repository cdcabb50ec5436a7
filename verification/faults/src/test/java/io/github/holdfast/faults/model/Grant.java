package io.github.holdfast.faults.model;

import java.util.Set;

/**
 * The compare-and-set that grants the lock.
 *
 * @param version what it was decided on, as {@code token} and {@code expectedOwner}
 * @param newToken the token that it gives
 * @param leaseLeft how much is left of a lease whose end was computed when the row was read; {@link #IN_THE_WRITE} otherwise
 * @param nodeLeft if this statement judges the node itself: what is left of it as the statement's snapshot shows it; {@link
 *     #NOT_JUDGED} otherwise
 */
record Grant(int owner, int node, int version, int token, int expectedOwner, int newToken, int leaseLeft, int nodeLeft)
        implements Message {

    static final int IN_THE_WRITE = -1;
    static final int NOT_JUDGED = -1;

    static Grant decided(Attempt attempt, LockRow on, int block) {
        return new Grant(
                attempt.owner(),
                attempt.node(),
                on.version(),
                on.token(),
                on.owner(),
                Math.max(on.token(), attempt.doubtful()) + block,
                IN_THE_WRITE,
                NOT_JUDGED);
    }

    Grant withLeaseFromTheRead(int lease) {
        return new Grant(owner, node, version, token, expectedOwner, newToken, lease, nodeLeft);
    }

    Grant judging(int nodeLeftNow) {
        return new Grant(owner, node, version, token, expectedOwner, newToken, leaseLeft, nodeLeftNow);
    }

    boolean isJudging() {
        return nodeLeft != NOT_JUDGED;
    }

    int leaseInTheWrite(int lease) {
        return leaseLeft == IN_THE_WRITE ? lease : leaseLeft;
    }

    boolean matches(LockRow row, Set<Rule> rules) {
        boolean isSame =
                !rules.contains(Rule.COMPARE_TOKEN_AND_OWNER) || (row.token() == token && row.owner() == expectedOwner);
        return row.version() == version && isSame && nodeLeft <= 0;
    }

    @Override
    public Grant later() {
        return new Grant(
                owner,
                node,
                version,
                token,
                expectedOwner,
                newToken,
                leaseLeft > 0 ? leaseLeft - 1 : leaseLeft,
                nodeLeft > 0 ? nodeLeft - 1 : nodeLeft);
    }
}
