package io.github.holdfast.router;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** The handles of one lock on two shards, as one handle. It is held as long as both are. Thread-safe. */
final class PairedHandle implements LockHandle {

    private final MovingName moving;
    private final LockHandle present;
    private final LockHandle next;
    private final LockHandle ofToken;
    private final LockHandles both;

    /**
     * Combines two handles.
     *
     * @param present the handle on the present shard
     * @param next the handle on the next shard
     * @param ofToken that of the two whose token counts
     */
    PairedHandle(MovingName moving, LockHandle present, LockHandle next, LockHandle ofToken) {
        this.moving = moving;
        this.present = present;
        this.next = next;
        this.ofToken = ofToken;
        this.both = LockHandles.of(List.of(present, next));
    }

    @Override
    public String name() {
        return present.name();
    }

    @Override
    public String owner() {
        return ofToken.owner();
    }

    @Override
    public LockMode mode() {
        return present.mode();
    }

    @Override
    public long fencingToken() {
        return ofToken.fencingToken();
    }

    @Override
    public int holdCount() {
        return Math.min(present.holdCount(), next.holdCount());
    }

    @Override
    public LockState state() {
        return worse(present.state(), next.state());
    }

    private static <S extends Comparable<S>> S worse(S one, S other) {
        return one.compareTo(other) >= 0 ? one : other;
    }

    @Override
    public Duration remaining() {
        return both.remaining();
    }

    @Override
    public void renew(Duration lease) {
        present.renew(lease);
        next.renew(lease);
    }

    @Override
    public void ensureValidFor(Duration duration) {
        both.ensureValidFor(duration);
    }

    @Override
    public void guard() {
        throw moving.noFence();
    }

    @Override
    public void guard(EntityManager entityManager) {
        throw moving.noFence();
    }

    /** False: a transaction has only one of the two databases, so it cannot check both locks. */
    @Override
    public boolean isFenced() {
        return false;
    }

    @Override
    public LockHandle detach() {
        present.detach();
        next.detach();
        return this;
    }

    @Override
    public LockHandle downgrade() {
        LockHandle shareOfPresent = present.downgrade();
        LockHandle shareOfNext = next;
        try {
            shareOfNext = next.downgrade();
            return moving.pair(shareOfPresent, shareOfNext, Duration.ZERO);
        } catch (RuntimeException | Error failed) {
            // One of the two would be shared, and the other not.
            LockHandles.of(List.of(shareOfPresent, shareOfNext)).release();
            throw failed;
        }
    }

    @Override
    public LockHandle onLost(Consumer<LockLost> handler) {
        Objects.requireNonNull(handler, "handler");
        AtomicBoolean isCalled = new AtomicBoolean();
        Consumer<LockLost> once = lost -> {
            if (!isCalled.getAndSet(true)) {
                handler.accept(new LockLost(name(), owner(), fencingToken(), lost.cause()));
            }
        };
        present.onLost(once);
        next.onLost(once);
        return this;
    }

    @Override
    public ReleaseOutcome release() {
        ReleaseOutcome ofNext = next.release();
        ReleaseOutcome ofPresent = present.release();
        boolean wasLost = ofNext == ReleaseOutcome.LOST || ofPresent == ReleaseOutcome.LOST;
        return wasLost ? ReleaseOutcome.LOST : worse(ofNext, ofPresent);
    }

    @Override
    public void close() {
        both.close();
    }

    @Override
    public String toString() {
        return "PairedHandle" + both.handles();
    }
}
