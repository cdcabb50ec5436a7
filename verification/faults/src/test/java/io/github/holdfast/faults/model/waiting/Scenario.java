package io.github.holdfast.faults.model.waiting;

import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What is explored.
 *
 * @param name for people
 * @param threads which service each thread belongs to, and what it asks for
 * @param budget how often what is a fault, or would go on for ever, may happen
 * @param strays which services have tickets on their way that no thread has any more
 * @param rules those that are kept
 */
record Scenario(String name, List<Seat> threads, Budget budget, List<Seat> strays, Set<Rule> rules) {

    enum Kind {
        FAIR,
        NOT_FAIR
    }

    /** One thread, or one ticket. */
    record Seat(int service, Kind kind) {
        boolean isFair() {
            return kind == Kind.FAIR;
        }
    }

    /**
     * How often what is a fault, or would go on for ever, may still happen.
     *
     * @param requests how many acquisitions begin; more of them begin, one after another, when only stray tickets are left
     * @param departures how many waiters give up
     * @param crashes how many services crash
     * @param losses how many answers to the insert or delete of a ticket, or to a release, are lost
     * @param pauses how many times a service is paused until its mark is over
     * @param otherWaiters how many services always wait for other locks too, so that their marks never end
     * @param answers how often a service reads that no other one waits
     */
    record Budget(int requests, int departures, int crashes, int losses, int pauses, int otherWaiters, int answers) {

        static Budget ofRequests(int requests) {
            return new Budget(requests, 0, 0, 0, 0, 0, 0);
        }

        Budget lessRequest() {
            return new Budget(requests - 1, departures, crashes, losses, pauses, otherWaiters, answers);
        }

        Budget departures(int number) {
            return new Budget(requests, number, crashes, losses, pauses, otherWaiters, answers);
        }

        Budget crashes(int number) {
            return new Budget(requests, departures, number, losses, pauses, otherWaiters, answers);
        }

        Budget losses(int number) {
            return new Budget(requests, departures, crashes, number, pauses, otherWaiters, answers);
        }

        Budget pauses(int number) {
            return new Budget(requests, departures, crashes, losses, number, otherWaiters, answers);
        }

        Budget otherWaiters(int number) {
            return new Budget(requests, departures, crashes, losses, pauses, number, answers);
        }

        Budget answers(int number) {
            return new Budget(requests, departures, crashes, losses, pauses, otherWaiters, number);
        }
    }

    static Scenario of(String name, Budget budget, Seat... threads) {
        return new Scenario(name, List.of(threads), budget, List.of(), EnumSet.allOf(Rule.class));
    }

    static Seat fair(int service) {
        return new Seat(service, Kind.FAIR);
    }

    static Seat notFair(int service) {
        return new Seat(service, Kind.NOT_FAIR);
    }

    /** With a ticket that arrives after its thread has left, from a service that waits for other locks for ever. */
    Scenario withStray(Seat stray) {
        int services = Math.max(services(), stray.service() + 1);
        return new Scenario(name, threads, budget.otherWaiters(services), List.of(stray), rules);
    }

    Scenario without(Rule... broken) {
        EnumSet<Rule> fewer = EnumSet.copyOf(rules);
        fewer.removeAll(List.of(broken));
        return new Scenario(name + " without " + List.of(broken), threads, budget, strays, fewer);
    }

    boolean keeps(Rule rule) {
        return rules.contains(rule);
    }

    int services() {
        return Stream.concat(threads.stream(), strays.stream())
                        .mapToInt(Seat::service)
                        .max()
                        .orElse(0)
                + 1;
    }
}
