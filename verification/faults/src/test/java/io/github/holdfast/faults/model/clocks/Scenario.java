package io.github.holdfast.faults.model.clocks;

import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What is explored.
 *
 * @param name for people
 * @param clocks whether one clock writes and judges all rows
 * @param rules those that are kept
 */
record Scenario(String name, Clocks clocks, Budget budget, Set<Rule> rules) {

    /** How many ticks a node lives without a beat. */
    static final int LEASE = 2;

    enum Clocks {
        ONE,
        MANY
    }

    /** What would go on forever, or is a fault. */
    enum Chance {
        ACQUISITION,
        /** An answer is lost. */
        LOSS,
        /** The service that beats dies. */
        CRASH,
        /** It dies, and starts again. */
        RESTART,
        FAILOVER,
        /** A read shows an earlier counter. */
        LAG,
        /** The clock of a service is a tick ahead of the other one's. */
        RATE,
        /** The database's clock is set forward. */
        CLOCK_STEP
    }

    /** How often each may still happen. */
    record Budget(Map<Chance, Integer> left) {

        /** Each of these once or, if it is named again, more often, and two acquisitions. */
        static Budget of(Chance... chances) {
            Map<Chance, Integer> left = new EnumMap<>(Map.of(Chance.ACQUISITION, 2));
            for (Chance chance : chances) {
                left.merge(chance, 1, Integer::sum);
            }
            return new Budget(left);
        }

        int left(Chance chance) {
            return left.getOrDefault(chance, 0);
        }

        boolean has(Chance chance) {
            return left(chance) > 0;
        }

        Budget less(Chance chance) {
            Map<Chance, Integer> fewer = new EnumMap<>(left);
            fewer.merge(chance, -1, Integer::sum);
            return new Budget(fewer);
        }
    }

    static Scenario of(String name, Clocks clocks, Chance... chances) {
        return new Scenario(name, clocks, Budget.of(chances), EnumSet.allOf(Rule.class));
    }

    Scenario without(Rule... broken) {
        EnumSet<Rule> fewer = EnumSet.copyOf(rules);
        fewer.removeAll(List.of(broken));
        return new Scenario(name + " without " + List.of(broken), clocks, budget, fewer);
    }

    boolean keeps(Rule rule) {
        return rules.contains(rule);
    }

    /** How many ticks a counter must have stood still. */
    int observation() {
        return LEASE + (keeps(Rule.HEED_THE_RATE) ? budget.left(Chance.RATE) : 0);
    }

    /** How many ticks after it was noticed a step of the clock counts. */
    int distrust() {
        return !keeps(Rule.HEED_A_STEP) ? 0 : keeps(Rule.HEED_A_STEP_FOR_A_LEASE) ? observation() : 1;
    }
}
