package io.github.holdfast.faults.model.clocks;

/**
 * The row of a node that has not been ended.
 *
 * @param counter what the last beat wrote
 * @param before what it wrote over, as long as it has no answer; otherwise the same
 * @param left until the lease is over, by the one clock
 */
record NodeRow(int id, int counter, int before, int left) {

    static NodeRow registered(int id) {
        return new NodeRow(id, 0, 0, Scenario.LEASE);
    }

    NodeRow beaten(int next) {
        return new NodeRow(id, next, counter, Scenario.LEASE);
    }

    NodeRow answered() {
        return new NodeRow(id, counter, counter, left);
    }

    NodeRow undone() {
        return new NodeRow(id, before, before, left);
    }

    NodeRow overdue() {
        return new NodeRow(id, counter, before, 0);
    }

    NodeRow lessBy(int less) {
        return new NodeRow(id, counter - less, before - less, left);
    }

    NodeRow later() {
        return new NodeRow(id, counter, before, Math.max(0, left - 1));
    }
}
