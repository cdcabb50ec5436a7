package io.github.holdfast.faults.model;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * What is explored.
 *
 * @param name for people
 * @param kinds what each service acquires
 * @param rules those that are kept
 * @param hasTransactions whether holders commit
 * @param keepsReleased whether services keep what they release
 * @param clockStep by how many ticks the clock is ahead of a server that becomes the database
 */
record Scenario(
        String name,
        List<Kind> kinds,
        Budget budget,
        Set<Rule> rules,
        boolean hasTransactions,
        boolean keepsReleased,
        int clockStep) {

    /** How many ticks a lease lasts, that of a lock or of a node. */
    static final int LEASE = 2;

    /** How many ticks others wait after that, if they heed the clocks of other servers. */
    private static final int TOLERANCE = 1;

    enum Kind {
        LEASE,
        THROUGH_NODE,
        /** The node's row is in another database than the lock's. */
        THROUGH_NODE_ELSEWHERE,
        ROW_LOCK
    }

    static Scenario of(String name, Budget budget, Kind... kinds) {
        return new Scenario(name, List.of(kinds), budget, EnumSet.allOf(Rule.class), false, false, 0);
    }

    Scenario withTransactions() {
        return new Scenario(name, kinds, budget, rules, true, keepsReleased, clockStep);
    }

    Scenario keepingReleased() {
        return new Scenario(name, kinds, budget, rules, hasTransactions, true, clockStep);
    }

    Scenario withClockAheadBy(int ticks) {
        return new Scenario(
                name + ", clock ahead by " + ticks, kinds, budget, rules, hasTransactions, keepsReleased, ticks);
    }

    Scenario without(Rule... broken) {
        EnumSet<Rule> fewer = EnumSet.copyOf(rules);
        fewer.removeAll(List.of(broken));
        return new Scenario(
                name + " without " + List.of(broken), kinds, budget, fewer, hasTransactions, keepsReleased, clockStep);
    }

    /** How many tokens a grant takes: one for itself, and in these scenarios one for a revival. */
    int block(int node) {
        return keepsReleased && node != LockRow.NO_NODE ? 2 : 1;
    }

    boolean keeps(Rule rule) {
        return rules.contains(rule);
    }

    /** The token of a grant without an answer, if that counts later; without failovers, what was done stays done. */
    int doubtful(int token) {
        return budget.failovers() > 0 && keeps(Rule.NEW_TOKEN_AFTER_DOUBT) ? token : 0;
    }

    /** The lease that a grant writes. Through a node, it counts only if the node may lose its row. */
    int leaseInTheRow(Grant grant) {
        return grant.node() == LockRow.NO_NODE || budget.nodeChanges() > 0 ? leaseForOthers() : 0;
    }

    /** For how many ticks a lease is over before others heed that. Where all clocks agree, none are needed. */
    int tolerance() {
        return clockStep > 0 && keeps(Rule.TOLERATE_OTHER_CLOCKS) ? TOLERANCE : 0;
    }

    /** How many ticks after a write of a lease others heed its end. */
    int leaseForOthers() {
        return LEASE + tolerance();
    }
}
