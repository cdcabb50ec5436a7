package io.github.holdfast.service.engine.hold;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.node.Heartbeat.NodeHolds;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.InDoubtWrites;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Compares the rows of a node with the holds of this process. It frees rows without a hold or an acquisition under way: a grant
 * arrived late, or a release did not arrive. It notifies holders whose row no longer shows their grant. It reads the table once,
 * in pages. Thread-safe.
 */
public final class Reconciliation implements NodeHolds {

    private static final int PAGE = 500;
    private static final Duration STATEMENT = Duration.ofSeconds(10);

    /** Comes before every grant: no name is empty. */
    private static final Grant BEFORE_ALL = new Grant(Grant.Kind.LOCK, "", "", 0);

    private final LockStore store;
    private final HoldRegistry held;
    private final PendingAcquisitions pending;
    private final InDoubtWrites inDoubtWrites;
    private final ReentrantLock oneAtATime = new ReentrantLock();
    private final AtomicLong begun = new AtomicLong();
    private volatile boolean isUnderWay;

    public Reconciliation(
            LockStore store, HoldRegistry held, PendingAcquisitions pending, InDoubtWrites inDoubtWrites) {
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
    public boolean isQuietSince(long reconciliations) {
        return begun.get() == reconciliations && !isUnderWay;
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
            isUnderWay = true;
            // Before the holds are listed: a later hold sees the new count, and checks its row itself.
            begun.incrementAndGet();
            // Before the rows are read: a hold that is added in between may have no row in these reads.
            List<LeaseHold> holds = held.through(node);
            Set<Grant> rows = this.<LockEntity>read(after -> locks(node, after), Grant::of, inDoubtWrites::free);
            if (node.mayHoldShares()) {
                rows.addAll(this.<LockHolder>read(after -> permits(node, after), Grant::of, inDoubtWrites::free));
            }
            // One read is enough for all holds of threads that share one grant.
            Map<Grant, Optional<LossCause>> gone = new HashMap<>();
            for (LeaseHold hold : holds) {
                Lifetime lifetime = hold.lifetime();
                if (rows.contains(hold.grant())) {
                    lifetime.confirm();
                } else {
                    lifetime.rechecked(gone.computeIfAbsent(hold.grant(), grant -> lifetime.lossCause()));
                }
            }
        } finally {
            isUnderWay = false;
            oneAtATime.unlock();
        }
    }

    private List<LockEntity> locks(Node node, Grant after) {
        return store.pages().heldThrough(node.id(), after.name(), PAGE);
    }

    private List<LockHolder> permits(Node node, Grant after) {
        return store.permits().heldThrough(node.id(), after.name(), after.fencingToken(), PAGE);
    }

    /**
     * Reads rows in pages, and frees those of no hold.
     *
     * @param pageAfter reads the page that follows on a grant
     * @param shown returns the grant that a row shows
     * @return the grants that the rows show
     */
    private <T> Set<Grant> read(Function<Grant, List<T>> pageAfter, Function<T, Grant> shown, Consumer<T> free) {
        Set<Grant> grants = new HashSet<>();
        Grant after = BEFORE_ALL;
        List<T> page;
        do {
            Grant last = after;
            page = store.inTransaction(STATEMENT, () -> pageAfter.apply(last));
            for (T row : page) {
                after = shown.apply(row);
                grants.add(after);
            }
            held.unknown(page, shown, pending.owners()).forEach(free);
        } while (page.size() == PAGE);
        return grants;
    }

    @Override
    public Runnable lossOf(Node node) {
        List<LeaseHold> holds = held.through(node);
        return () -> holds.forEach(hold -> hold.lifetime().lose(LossCause.EXPIRED));
    }
}
