package io.github.holdfast.service;

import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A lock that was written into its row. Thread-safe.
 *
 * @param anchor what all handles of the hold keep from being garbage
 */
record LeaseHolding(Hold hold, Internals internals, Object anchor) implements Holding {

    @Override
    public String name() {
        return hold.name();
    }

    @Override
    public String owner() {
        return hold.owner();
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
    public LockState state() {
        return hold.lifetime().state();
    }

    @Override
    public Duration remaining() {
        return hold.lifetime().remaining();
    }

    @Override
    public void renew(Duration lease) {
        hold.renewal().renew(lease);
    }

    @Override
    public void ensureValidFor(Duration duration) {
        hold.renewal().ensureValidFor(duration);
    }

    @Override
    public void guard() {
        internals.transactions().check(hold);
    }

    @Override
    public void guard(EntityManager entityManager) {
        Guarding.check(List.of(hold), grants -> internals.transactions().guard().check(grants, entityManager));
    }

    @Override
    public boolean isFenced() {
        return internals.transactions().isFenced(hold);
    }

    @Override
    public void detach() {
        internals.held().detach(hold);
        hold.lifetime().loss().spare();
    }

    @Override
    public void onLost(Consumer<LockLost> handler) {
        hold.lifetime().loss().on(handler);
    }

    @Override
    public ReleaseOutcome release() {
        return hold.end().release();
    }

    @Override
    public String toString() {
        return "name=%s, owner=%s, fencingToken=%d".formatted(name(), owner(), fencingToken());
    }

    @Override
    public Optional<LockLostException> loss() {
        return hold.coverage().hasCommitted()
                ? Optional.empty()
                : Optional.of(hold.lifetime().loss().exception());
    }
}
