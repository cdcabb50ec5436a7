package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Compares the rows of a node with the holds of this process. It frees rows without a hold or an acquisition under way: a grant
 * arrived late, or a release did not arrive. It notifies holders whose row no longer shows their grant. It reads the table once,
 * in pages. Thread-safe.
 */
final class Reconciliation implements NodeHolds {

    private static final int PAGE = 500;
    private static final Duration STATEMENT = Duration.ofSeconds(10);

    private final LockStore store;
    private final HoldRegistry held;
    private final PendingAcquisitions pending;
    private final InDoubtWrites inDoubtWrites;
    private final ReentrantLock oneAtATime = new ReentrantLock();
    private final AtomicLong begun = new AtomicLong();

    Reconciliation(LockStore store, HoldRegistry held, PendingAcquisitions pending, InDoubtWrites inDoubtWrites) {
        this.store = store;
        this.held = held;
        this.pending = pending;
        this.inDoubtWrites = inDoubtWrites;
    }

    @Override
    public long reconciliations() {
        return begun.get();
    }

    @Override
    public void reconcileLater(Node node) {
        inDoubtWrites.soon(() -> reconcile(node));
    }

    /**
     * Reconciles now, and notifies holders. {@link InDoubtWrites} frees the rows later, because that may have to wait for row
     * locks.
     *
     * @throws StoreException if the database failed, or a reconciliation is under way already
     */
    @Override
    public void reconcile(Node node) {
        if (!oneAtATime.tryLock()) {
            throw StoreException.overtaken();
        }
        try {
            // Before the holds are listed: a later hold sees the new count, and checks its row itself.
            begun.incrementAndGet();
            // Before the rows are read: a hold that is added in between may have no row in these reads.
            List<LeaseHold> holds = held.through(node);
            Set<Grant> rows = new HashSet<>();
            readLocks(node, rows);
            if (node.canHoldPermits()) {
                readPermits(node, rows);
            }
            for (LeaseHold hold : holds) {
                if (rows.contains(hold.grant())) {
                    hold.lifetime().confirm();
                } else {
                    hold.lifetime().recheck();
                }
            }
        } finally {
            oneAtATime.unlock();
        }
    }

    private void readLocks(Node node, Set<Grant> rows) {
        String after = "";
        List<LockEntity> page;
        do {
            page = locks(node, after);
            for (LockEntity row : page) {
                rows.add(Grant.of(row));
                after = row.name();
            }
            held.unknown(page, Grant::of, pending.owners()).forEach(inDoubtWrites::free);
        } while (page.size() == PAGE);
    }

    private List<LockEntity> locks(Node node, String after) {
        return store.inTransaction(STATEMENT, () -> store.pages().heldThrough(node.id(), after, PAGE));
    }

    private void readPermits(Node node, Set<Grant> rows) {
        String after = "";
        long afterToken = 0;
        List<LockHolder> page;
        do {
            page = permits(node, after, afterToken);
            for (LockHolder row : page) {
                rows.add(Grant.of(row));
                after = row.name();
                afterToken = row.fencingToken();
            }
            held.unknown(page, Grant::of, pending.owners()).forEach(inDoubtWrites::free);
        } while (page.size() == PAGE);
    }

    private List<LockHolder> permits(Node node, String after, long afterToken) {
        return store.inTransaction(STATEMENT, () -> store.permits().heldThrough(node.id(), after, afterToken, PAGE));
    }

    @Override
    public Runnable lossOf(Node node) {
        List<LeaseHold> holds = held.through(node);
        return () -> holds.forEach(hold -> hold.lifetime().lose(LossCause.EXPIRED));
    }
}
