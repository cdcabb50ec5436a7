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
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A handle of a row lock. */
final class RowLockHandle extends HoldHandle {

    private static final Logger LOG = LoggerFactory.getLogger(RowLockHandle.class);

    private final RowHold hold;

    /** All handles of the hold share this object. It becomes garbage with the last handle, and the hold notices that. */
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private final Object anchor;

    RowLockHandle(RowHold hold, Object anchor) {
        this.hold = hold;
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
        return LockMode.EXCLUSIVE;
    }

    @Override
    public long fencingToken() {
        throw new UnsupportedOperationException("Row lock '" + name() + "' has no fencing token");
    }

    @Override
    public int holdCount() {
        return hold.holdCount();
    }

    @Override
    LockState stateOfHold() {
        return hold.state();
    }

    @Override
    Duration remainingOfHold() {
        return hold.isHeld() ? LockRequest.LONGEST_DURATION : Duration.ZERO;
    }

    @Override
    public void renew(Duration lease) {
        Duration unused = LockRequest.checkedLease(lease);
        checkNotReleased();
        throw new UnsupportedOperationException("Row lock '" + name() + "' has no lease");
    }

    @Override
    public void ensureValidFor(Duration duration) {
        Duration unused = LockRequest.checkedDuration("duration", duration);
        checkNotReleased();
        hold.ensureHeld();
    }

    /** The row lock itself is the guard: it lasts until the transaction commits. */
    @Override
    public void guard() {
        checkNotReleased();
        if (!isFenced()) {
            throw new IllegalStateException(
                    "Row lock '" + name() + "' is not held by the calling thread's transaction, and cannot guard it");
        }
        hold.ensureHeld();
    }

    @Override
    public void guard(EntityManager entityManager) {
        checkNotReleased();
        throw new UnsupportedOperationException(
                "Row lock '" + name() + "' is not held by a transaction of that entity manager");
    }

    @Override
    public boolean isFenced() {
        return hold.isFenced();
    }

    @Override
    public LockHandle detach() {
        hold.detach();
        return this;
    }

    @Override
    public LockHandle downgrade() {
        throw new UnsupportedOperationException("Row lock '" + name() + "' cannot be downgraded");
    }

    @Override
    public LockHandle onLost(Consumer<LockLost> handler) {
        Objects.requireNonNull(handler, "handler");
        LOG.debug("Holdfast does not watch the connection of row lock '{}', and reports no loss to a handler", name());
        return this;
    }

    @Override
    public ReleaseOutcome release() {
        ReleaseOutcome before = outcome();
        return before == null ? hold.release(this) : before;
    }

    @Override
    Optional<LockLostException> loss() {
        return Optional.of(hold.lost());
    }

    @Override
    public String toString() {
        return "LockHandle[name=%s, owner=%s, row lock, state=%s]".formatted(name(), owner(), state());
    }
}
