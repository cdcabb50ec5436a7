package io.github.holdfast.service;

/**
 * Asks the database after all holds, because the local clock may have stood still: leases one by one, and the rest by one heartbeat,
 * which makes them last or finds that the node is over. Does not wait for the database itself. Thread-safe.
 */
record Recheck(HeldLocks held, Heartbeat heartbeat, Settler settler) implements Runnable {

    @Override
    public void run() {
        heartbeat.beatSoon();
        held.all().stream().filter(Hold::isByLease).forEach(hold -> settler.soon(hold.lifetime()::recheckLease));
    }
}
