package io.github.holdfast.faults;

/**
 * That a holder believed to have the lock, from the answer to its acquire until before the given time.
 *
 * @param grant what gave it the lock
 */
record Belief(Operation grant, long until) {

    long from() {
        return grant.endNanos();
    }

    boolean isShared() {
        return grant.action() == Action.SHARE;
    }
}
