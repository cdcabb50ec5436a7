package io.github.holdfast.faults.model.shares;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * What is explored.
 *
 * @param name for people
 * @param seats one for each service
 * @param limit that of the semaphore; {@link #NO_LIMIT} for a lock
 * @param rules those that are kept
 * @param hasTransactions whether holders commit
 */
record Scenario(String name, List<Seat> seats, int limit, Budget budget, Set<Rule> rules, boolean hasTransactions) {

    static final int NO_LIMIT = 0;

    /** How many ticks a lease lasts, that of a holder or of a node. */
    static final int LEASE = 2;

    /** How many versions a grant to a shared holder may be late. */
    static final int WINDOW = 2;

    enum Mode {
        /** Shares the lock, or has permits of the semaphore. */
        SHARED,
        /** Has the lock alone. */
        EXCLUSIVE
    }

    /**
     * How a service acquires.
     *
     * @param isThroughNode whether its hold lasts as long as its node; otherwise it has a lease
     */
    record Seat(Mode mode, boolean isThroughNode, int permits) {}

    static Scenario of(String name, Budget budget, Seat... seats) {
        return new Scenario(name, List.of(seats), NO_LIMIT, budget, EnumSet.allOf(Rule.class), false);
    }

    static Seat shared() {
        return new Seat(Mode.SHARED, false, 1);
    }

    static Seat sharedThroughNode() {
        return new Seat(Mode.SHARED, true, 1);
    }

    static Seat permits(int permits) {
        return new Seat(Mode.SHARED, false, permits);
    }

    static Seat exclusive() {
        return new Seat(Mode.EXCLUSIVE, false, 1);
    }

    Scenario withLimit(int permits) {
        return new Scenario(name, seats, permits, budget, rules, hasTransactions);
    }

    Scenario withTransactions() {
        return new Scenario(name, seats, limit, budget, rules, true);
    }

    Scenario without(Rule... broken) {
        EnumSet<Rule> fewer = EnumSet.copyOf(rules);
        fewer.removeAll(List.of(broken));
        return new Scenario(name + " without " + List.of(broken), seats, limit, budget, fewer, hasTransactions);
    }

    boolean keeps(Rule rule) {
        return rules.contains(rule);
    }

    boolean isOfSemaphore() {
        return limit != NO_LIMIT;
    }

    Seat seat(int service) {
        return seats.get(service);
    }

    boolean isShared(int service) {
        return seat(service).mode() == Mode.SHARED;
    }

    /** For people. */
    String who(int service) {
        String kind = isOfSemaphore() ? "user " : isShared(service) ? "reader " : "writer ";
        return kind + service;
    }
}
