package io.github.holdfast.service.engine;

import io.github.holdfast.repository.StoreException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.stream.Collectors;

/**
 * Checks all holds in the database, because the local clock may have stood still. It checks leases one by one. One heartbeat
 * covers the other holds: it prolongs them, or finds that the node is over. The calling thread does not wait for the database.
 * Thread-safe.
 */
record HoldRecheck(HoldRegistry held, Heartbeat heartbeat, InDoubtWrites inDoubtWrites) implements Runnable {

    @Override
    public void run() {
        heartbeat.beatSoon();
        Queue<LeaseHold> leases =
                held.all().stream().filter(LeaseHold::isByLease).collect(Collectors.toCollection(ArrayDeque::new));
        inDoubtWrites.soon(() -> ask(leases));
    }

    /** Checks the leases until the database has answered for each. After a failure, it tries the same lease again later. */
    private void ask(Queue<LeaseHold> leases) {
        for (LeaseHold hold = leases.peek(); hold != null; hold = leases.peek()) {
            try {
                hold.lifetime().recheckLease();
            } catch (StoreException failed) {
                inDoubtWrites.later(() -> ask(leases));
                return;
            }
            leases.remove();
        }
    }
}
