package io.github.holdfast.faults.model.clocks;

/**
 * The row of a node.
 *
 * @param counter what the last beat wrote
 * @param before what it wrote over, as long as it has no answer; otherwise the same
 * @param left until the lease is over, by the one clock
 */
record NodeRow(int id, int counter, int before, boolean isEnded, int left) {

    static NodeRow registered(int id) {
        return new NodeRow(id, 0, 0, false, Scenario.LEASE);
    }

    NodeRow beaten(int next) {
        return new NodeRow(id, next, counter, isEnded, Scenario.LEASE);
    }

    NodeRow answered() {
        return new NodeRow(id, counter, counter, isEnded, left);
    }

    NodeRow undone() {
        return new NodeRow(id, before, before, isEnded, left);
    }

    NodeRow ended() {
        return new NodeRow(id, counter, before, true, left);
    }

    NodeRow overdue() {
        return new NodeRow(id, counter, before, isEnded, 0);
    }

    NodeRow lessBy(int less) {
        return new NodeRow(id, counter - less, before - less, isEnded, left);
    }

    NodeRow later() {
        return new NodeRow(id, counter, before, isEnded, Math.max(0, left - 1));
    }
}
