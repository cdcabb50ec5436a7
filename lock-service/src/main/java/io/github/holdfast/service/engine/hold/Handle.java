package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A handle of a hold. It releases the hold once. Thread-safe. */
public final class Handle implements LockHandle {

    private final Hold hold;

    /** All handles of the hold share this object. It becomes garbage with the last handle, and the hold notices that. */
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private final Object anchor;

    private volatile @Nullable ReleaseOutcome outcome;

    Handle(Hold hold, Object anchor) {
        this.hold = hold;
        this.anchor = anchor;
    }

    /** The outcome of this handle's release; null before it. */
    @Nullable
    public ReleaseOutcome outcome() {
        return outcome;
    }

    /** Notes the outcome of this handle's release. Only the hold calls this, while it blocks other releases. */
    public void released(ReleaseOutcome ofRelease) {
        outcome = ofRelease;
    }

    /** Notes that the lock is held for as long as the process lives, so that the leak detection does not report a long time. */
    public void mayLast() {
        hold.mayLast();
    }

    void checkNotReleased() {
        if (outcome != null) {
            throw new IllegalStateException("The handle of lock '" + name() + "' was released");
        }
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
        return hold.mode();
    }

    @Override
    public long fencingToken() {
        return hold.fencingToken();
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
        hold.guard();
    }

    @Override
    public void guard(EntityManager entityManager) {
        checkNotReleased();
        hold.guard(entityManager);
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
        return hold.downgrade(this);
    }

    @Override
    public LockHandle onLost(Consumer<LockLost> handler) {
        hold.onLost(Objects.requireNonNull(handler, "handler"));
        return this;
    }

    @Override
    public ReleaseOutcome release() {
        ReleaseOutcome before = outcome;
        return before == null ? hold.release(this) : before;
    }

    @Override
    public void close() {
        boolean wasReleased = outcome != null;
        if (release() == ReleaseOutcome.LOST && !wasReleased) {
            hold.lossOnClose().ifPresent(lost -> {
                throw lost;
            });
        }
    }

    @Override
    public String toString() {
        return "LockHandle[name=%s, owner=%s, %s, state=%s]".formatted(name(), owner(), hold.tokenText(), state());
    }
}
