package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.ReadableDuration;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A handle of a lock that a majority has granted. */
final class QuorumHandle implements LockHandle {

    private final QuorumHold hold;

    /** Not a monitor: a release waits for members, and a virtual thread in a monitor keeps its carrier before JDK 24 (JEP 491). */
    private final ReentrantLock releasing = new ReentrantLock();

    private volatile @Nullable ReleaseOutcome outcome;

    QuorumHandle(QuorumHold hold) {
        this.hold = hold;
    }

    @Override
    public String name() {
        return hold.name();
    }

    @Override
    public String owner() {
        return hold.acquisition().owner();
    }

    @Override
    public LockMode mode() {
        return LockMode.EXCLUSIVE;
    }

    @Override
    public long fencingToken() {
        throw new UnsupportedOperationException("The fencing token of lock '" + name()
                + "' is not one number, because the tokens of the members are unrelated: use QuorumToken.of(handle)");
    }

    QuorumToken token() {
        return hold.token();
    }

    @Override
    public int holdCount() {
        return hold.holdCount();
    }

    @Override
    public LockState state() {
        return outcome == null ? hold.state() : LockState.RELEASED;
    }

    @Override
    public Duration remaining() {
        return outcome == null ? hold.remaining() : Duration.ZERO;
    }

    @Override
    public void renew(Duration lease) {
        LockRequest.checkedLease(lease);
        checkHeld();
        hold.atMajority("was not renewed at a majority of the members", handle -> handle.renew(lease));
    }

    @Override
    public void ensureValidFor(Duration duration) {
        LockRequest.checkedDuration("duration", duration);
        checkHeld();
        if (remaining().compareTo(duration) >= 0) {
            return;
        }
        hold.atMajority("was not renewed at a majority of the members", handle -> handle.ensureValidFor(duration));
        if (remaining().compareTo(duration) < 0) {
            throw new LockLostException(
                    name(),
                    LossCause.EXPIRED,
                    "a majority of the members holds it for less than " + new ReadableDuration(duration));
        }
    }

    private void checkHeld() {
        switch (state()) {
            case RELEASED -> throw new IllegalStateException("Lock '" + name() + "' was released");
            case LOST -> throw hold.loss().exception();
            case HELD, SUSPECT -> {}
        }
    }

    @Override
    public void guard() {
        throw unguarded();
    }

    @Override
    public void guard(EntityManager entityManager) {
        throw unguarded();
    }

    private UnsupportedOperationException unguarded() {
        return new UnsupportedOperationException("No transaction can be made to depend on lock '" + name()
                + "': it is held by several databases. Use a LockService on the database that is written");
    }

    @Override
    public boolean isFenced() {
        return false;
    }

    @Override
    public LockHandle detach() {
        hold.detach();
        return this;
    }

    @Override
    public LockHandle downgrade() {
        throw new UnsupportedOperationException(
                "Lock '" + name() + "' is held by several databases, and cannot be shared");
    }

    @Override
    public LockHandle onLost(Consumer<LockLost> handler) {
        Objects.requireNonNull(handler, "handler");
        hold.loss().on(handler);
        return this;
    }

    @Override
    public ReleaseOutcome release() {
        releasing.lock();
        try {
            ReleaseOutcome before = outcome;
            if (before != null) {
                return before;
            }
            ReleaseOutcome released = hold.release();
            outcome = released;
            return released;
        } finally {
            releasing.unlock();
        }
    }

    @Override
    public void close() {
        boolean isFirst = outcome == null;
        if (release() == ReleaseOutcome.LOST && isFirst) {
            throw hold.loss().exception();
        }
    }

    @Override
    public String toString() {
        return "LockHandle[name=%s, owner=%s, token=%s, state=%s]".formatted(name(), owner(), token(), state());
    }
}
