package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.tx.GuardedHold;
import io.github.holdfast.service.engine.tx.TransactionGuard;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A hold that its row shows: how long it lasts, and which transactions it fences. Thread-safe. */
abstract class GrantedHold extends Hold implements GuardedHold.Granted {

    final LockAccess access;
    final TransactionGuard transactions;
    final ListenerDispatcher listeners;
    final LockRequest request;
    final HoldRow row;
    final Lifetime lifetime;
    private final NewGrant granted;
    private volatile @Nullable Thread acquiredBy;

    /** A hold that was just granted for this request, with the row that shows the grant. */
    GrantedHold(
            LockAccess access,
            Heartbeat heartbeat,
            TransactionGuard transactions,
            ListenerDispatcher listeners,
            LockRequest request,
            NewGrant granted,
            HoldRow row) {
        super(access.ticker());
        this.access = access;
        this.transactions = transactions;
        this.listeners = listeners;
        this.request = request;
        this.granted = granted;
        this.row = row;
        holdTransactions().fence(request);
        this.lifetime = new Lifetime(access, heartbeat, listeners, granted, row, this::lost);
    }

    /** Notes that the loss of the hold was reported; returns quickly. */
    abstract void lost();

    @Override
    public Grant grant() {
        return granted.grant();
    }

    @Override
    public String name() {
        return row.name();
    }

    /** What the hold was granted for. */
    public final LockRequest request() {
        return request;
    }

    @Override
    public String owner() {
        return row.owner();
    }

    @Override
    public boolean isByLease() {
        return node() == null;
    }

    /** Whether the hold excludes all others. Otherwise, it is a share: a shared lock, or permits of a semaphore. */
    public boolean isExclusive() {
        return granted.grant().kind() == Grant.Kind.LOCK;
    }

    /** How many permits of a semaphore it has; 0 if it is a hold of a lock. */
    public int permits() {
        return granted.permits();
    }

    @Override
    public boolean isRevived() {
        return granted.isRevived();
    }

    @Override
    public boolean isFirst() {
        return granted.isFirst();
    }

    /** Whether the user chose the owner, so that other processes may hold the lock under the same owner. */
    public boolean isOwnerChosen() {
        return request.owner().isPresent();
    }

    /** Whether a request in a transaction under the hold can prolong its lease: the write makes no commit fail, and waits for none. */
    boolean canProlong() {
        return isByLease()
                && !isOwnerChosen()
                && !requiresFence()
                && !holdTransactions().mayBeLockedByCurrentThread();
    }

    /** The node that keeps the hold alive; null if it has a lease. */
    @Nullable
    public Node node() {
        return granted.node();
    }

    void acquiredBy(Thread thread) {
        acquiredBy = thread;
        attached();
    }

    @Override
    public @Nullable Thread acquiredBy() {
        return acquiredBy;
    }

    /** Whether it is held and fenced, but its handles were dropped, and so nothing will release it. */
    public boolean isDropped() {
        return isOpen() && requiresFence() && !isLost() && areHandlesDropped();
    }

    @Override
    public boolean isForgotten() {
        return areHandlesGone();
    }

    /**
     * {@inheritDoc} No handle is left that could be released; and the thread has the lock again, or its lease has expired, or no fence was
     * requested.
     */
    @Override
    public boolean isOutOfFence() {
        return isForgotten() && isLost() && (isReplaced() || !requiresFence() || (isByLease() && lifetime.isOver()));
    }

    @Override
    public LockLostException lostInTransaction() {
        LockLostException lost = lifetime.lostInTransaction();
        return isForgotten()
                ? new LockLostException(
                        name(), lost.lossCause(), lost.lossCause().why() + DROPPED)
                : lost;
    }

    @Override
    public LockMode mode() {
        return isExclusive() ? LockMode.EXCLUSIVE : LockMode.SHARED;
    }

    @Override
    public long fencingToken() {
        return granted.token();
    }

    @Override
    public long tokenInRow() {
        return fencingToken();
    }

    @Override
    public String tokenText() {
        return "fencingToken=" + fencingToken();
    }

    @Override
    public LockState state() {
        return lifetime.state();
    }

    @Override
    public Duration remaining() {
        return lifetime.remaining();
    }

    @Override
    public void onLost(Consumer<LockLost> handler) {
        lifetime.onLost(handler);
    }

    @Override
    public Optional<LockLostException> lossOnClose() {
        return holdTransactions().hasCommitted() ? Optional.empty() : Optional.of(lossException());
    }

    @Override
    public void guard() {
        transactions.check(this);
    }

    @Override
    public void guard(EntityManager entityManager) {
        transactions.check(this, entityManager);
    }

    @Override
    public boolean isFenced() {
        return transactions.isFenced(this);
    }

    @Override
    public boolean fencesNext() {
        return isOpen() && !isDetached();
    }

    @Override
    public boolean requiresFence() {
        return holdTransactions().areFenced();
    }

    @Override
    public boolean expireIfOver() {
        return lifetime.expireIfOver();
    }

    @Override
    public boolean isLost() {
        return lifetime.isLost();
    }

    @Override
    public LockLostException lossException() {
        return lifetime.lossException();
    }

    /** The hold's validity, and whether it is lost. */
    public Lifetime lifetime() {
        return lifetime;
    }
}
