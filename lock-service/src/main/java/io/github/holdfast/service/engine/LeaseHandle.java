package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;

/** A handle of a lock with a lease or through a node. */
final class LeaseHandle extends HoldHandle {

    private final LeaseHold hold;
    private final TransactionGuard transactions;

    /** All handles of the hold share this object. It becomes garbage with the last handle, and the hold notices that. */
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private final Object anchor;

    LeaseHandle(LeaseHold hold, TransactionGuard transactions, Object anchor) {
        this.hold = hold;
        this.transactions = transactions;
        this.anchor = anchor;
    }

    @Override
    public String name() {
        return hold.name();
    }

    @Override
    public String owner() {
        return hold.owner();
    }

    @Override
    public LockMode mode() {
        return hold.isExclusive() ? LockMode.EXCLUSIVE : LockMode.SHARED;
    }

    @Override
    public long fencingToken() {
        return hold.grant().fencingToken();
    }

    @Override
    public int holdCount() {
        return hold.holdCount();
    }

    @Override
    LockState stateOfHold() {
        return hold.lifetime().state();
    }

    @Override
    Duration remainingOfHold() {
        return hold.lifetime().remaining();
    }

    @Override
    public void renew(Duration lease) {
        Duration atLeast = LockRequest.checkedLease(lease);
        checkNotReleased();
        hold.renew(atLeast);
    }

    @Override
    public void ensureValidFor(Duration duration) {
        Duration wanted = LockRequest.checkedDuration("duration", duration);
        checkNotReleased();
        hold.ensureValidFor(wanted);
    }

    @Override
    public void guard() {
        checkNotReleased();
        transactions.check(hold);
    }

    @Override
    public void guard(EntityManager entityManager) {
        checkNotReleased();
        GrantCheck.check(List.of(hold), grants -> transactions.guard().check(grants, entityManager));
    }

    @Override
    public boolean isFenced() {
        return transactions.isFenced(hold);
    }

    @Override
    public LockHandle detach() {
        hold.detached();
        return this;
    }

    @Override
    public LockHandle downgrade() {
        checkNotReleased();
        return hold.downgrade(this);
    }

    @Override
    public LockHandle onLost(Consumer<LockLost> handler) {
        hold.lifetime().loss().on(Objects.requireNonNull(handler, "handler"));
        return this;
    }

    @Override
    public ReleaseOutcome release() {
        ReleaseOutcome before = outcome();
        return before == null ? hold.release(this) : before;
    }

    @Override
    Optional<LockLostException> loss() {
        return hold.holdTransactions().hasCommitted() ? Optional.empty() : Optional.of(hold.lossException());
    }

    @Override
    public String toString() {
        return "LockHandle[name=%s, owner=%s, fencingToken=%d, state=%s]"
                .formatted(name(), owner(), fencingToken(), state());
    }
}
