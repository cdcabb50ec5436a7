package io.github.holdfast.service;

import io.github.holdfast.entity.LockEntity;
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
 * Compares the rows of a node with what this process knows of: rows that no hold and no acquisition under way accounts for
 * are freed (a grant that arrived late, a release that did not), and holders whose row has moved on are told. Reads the
 * table once, in pages. Thread-safe.
 */
final class Reconciliation {

    private static final int PAGE = 500;
    private static final Duration STATEMENT = Duration.ofSeconds(10);

    private final LockStore store;
    private final HeldLocks held;
    private final Settler settler;
    private final ReentrantLock oneAtATime = new ReentrantLock();
    private final AtomicLong begun = new AtomicLong();

    Reconciliation(LockStore store, HeldLocks held, Settler settler) {
        this.store = store;
        this.held = held;
        this.settler = settler;
    }

    /** Returns how many times it has begun. */
    long begun() {
        return begun.get();
    }

    /** Does it soon, on the thread of the settler. */
    void later(Node node) {
        settler.soon(() -> now(node));
    }

    /**
     * Does it: tells holders, and leaves it to the settler to free rows, which may have to wait for those who have them locked.
     *
     * @throws StoreException if the database failed, or it is under way already
     */
    void now(Node node) {
        if (!oneAtATime.tryLock()) {
            throw StoreException.overtaken();
        }
        try {
            // Before the holds are listed: one that comes later sees that it was missed, and looks for itself.
            begun.incrementAndGet();
            // Before the rows are read: a hold that comes in between has a row that this look may have missed.
            List<Hold> holds = held.through(node);
            Set<Grant> rows = new HashSet<>();
            String after = "";
            List<LockEntity> page;
            do {
                page = page(node, after);
                for (LockEntity row : page) {
                    rows.add(Grant.of(row));
                    after = row.name();
                }
                held.unknown(page).forEach(settler::free);
            } while (page.size() == PAGE);
            for (Hold hold : holds) {
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

    private List<LockEntity> page(Node node, String after) {
        return store.inTransaction(STATEMENT, () -> store.table().heldThrough(node.id(), after, PAGE));
    }

    /** Returns the valid holds of a node that is about to be ended. */
    List<Hold> holds(Node node) {
        return held.through(node);
    }
}
