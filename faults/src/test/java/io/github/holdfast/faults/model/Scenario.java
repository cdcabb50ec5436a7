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
 */
record Scenario(String name, List<Kind> kinds, Budget budget, Set<Rule> rules, boolean hasTransactions) {

    /** How many ticks a lease lasts, that of a lock or of a node. */
    static final int LEASE = 2;

    enum Kind {
        LEASE,
        THROUGH_NODE,
        ROW_LOCK
    }

    static Scenario of(String name, Budget budget, Kind... kinds) {
        return new Scenario(name, List.of(kinds), budget, EnumSet.allOf(Rule.class), false);
    }

    Scenario withTransactions() {
        return new Scenario(name, kinds, budget, rules, true);
    }

    Scenario without(Rule... broken) {
        EnumSet<Rule> fewer = EnumSet.copyOf(rules);
        fewer.removeAll(List.of(broken));
        return new Scenario(name + " without " + List.of(broken), kinds, budget, fewer, hasTransactions);
    }

    boolean keeps(Rule rule) {
        return rules.contains(rule);
    }
}
