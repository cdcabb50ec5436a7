package io.github.holdfast.faults.model;

import java.util.List;

/**
 * A synchronous standby is cut off and comes back, and another server becomes the database. While the standby is away, each commit
 * waits for it, unless the wait is cancelled: the primary alone has it then. A failover in which the standby is not away loses nothing.
 * Locks of a row and transactions are in no scenario with a failover: they end with their connections.
 */
record Failovers(Scenario scenario) {

    void steps(State s, Steps<State> out) {
        if (s.db().isStandbyAway()) {
            out.add("the standby catches up", Steps.NOBODY, s.with(s.db().withStandby()));
        } else if (s.budget().cancellations() > 0) {
            // While nothing can be cancelled, nothing gets lost.
            out.addFault("the standby is cut off", Steps.NOBODY, s.with(s.db().withoutStandby()));
        }
        if (s.budget().failovers() > 0 && (s.db().isStandbyAway() || scenario.clockStep() > 0)) {
            out.addFault("another server becomes the database", Steps.NOBODY, failedOver(s));
        }
    }

    /** What was sent to the former one and not answered is gone; what was not sent yet goes to the new one. */
    private State failedOver(State s) {
        List<Service> after = s.services().stream().map(Service::disconnected).toList();
        State gone = new State(s.db(), after, List.of(), s.ledger(), s.budget().lessFailover());
        return gone.with(s.db().failedOver(scenario.clockStep()));
    }
}
