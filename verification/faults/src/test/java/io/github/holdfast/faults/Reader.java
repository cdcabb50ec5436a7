package io.github.holdfast.faults;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import java.util.Random;
import org.springframework.transaction.support.TransactionTemplate;

/** Shares locks at random, and records what it sees. */
record Reader(Client client, TransactionTemplate transaction, Counter counter, Recorder recorder, Random random) {

    /** Reads what must not change meanwhile. */
    void share(String name) {
        boolean isByLease = random.nextBoolean();
        LockRequest request = LockRequest.of(name).shared().waitAtMost(client.patience());
        long acquire = recorder.begin(Action.SHARE, Facts.of(name));
        // Threads of a worker may have one token.
        Facts facts = Facts.of(name).token(acquire).node(isByLease ? null : "of the worker");
        LockHandle share = client.acquire(
                isByLease ? request.lease(Fleet.NODE_LEASE.dividedBy(1 + random.nextInt(4))) : request,
                acquire,
                Action.SHARE,
                facts);
        if (share == null) {
            return;
        }
        recorder.end(
                acquire,
                Action.SHARE,
                Phase.OK,
                facts.owner(share.owner()).validUntil(client.believed(share).validUntil()));
        for (int i = random.nextInt(5); i > 0; i--) {
            switch (random.nextInt(4)) {
                case 0, 1 -> read(share, facts);
                case 2 -> prolong(share);
                default -> client.pause(50);
            }
            lookAtShare(share, facts);
        }
        long release = recorder.begin(Action.SHARE_RELEASE, facts);
        ReleaseOutcome outcome = share.release();
        recorder.end(release, Action.SHARE_RELEASE, Client.phase(outcome), facts);
    }

    private void lookAtShare(LockHandle share, Facts facts) {
        long look = recorder.begin(Action.SHARE_LOOK, facts);
        Facts believed = facts.validUntil(client.believed(share).validUntil());
        boolean isHeld = !share.remaining().isZero();
        recorder.end(look, Action.SHARE_LOOK, isHeld ? Phase.OK : Phase.FAIL, believed);
    }

    /** Often late: the lease may be over, or a writer may just have seen that it was. */
    private void prolong(LockHandle share) {
        try {
            share.renew(Fleet.NODE_LEASE);
        } catch (LockLostException | LockStoreException failed) {
            // The next look shows what the holder knows.
            return;
        }
    }

    /** On MySQL and MariaDB, both reads see one snapshot, so only the other databases can show a change. */
    private void read(LockHandle share, Facts facts) {
        long[] seen = {Facts.UNSET, Facts.UNSET};
        long read = recorder.begin(Action.READ, facts);
        Phase outcome = Phase.OK;
        try {
            transaction.executeWithoutResult(status -> {
                seen[0] = counter.read(share.name());
                client.pauseInTransaction();
                seen[1] = counter.read(share.name());
            });
        } catch (RuntimeException failed) {
            outcome = Phase.FAIL;
        }
        recorder.end(read, Action.READ, outcome, facts.holds(seen[0]).value(seen[1]));
    }
}
