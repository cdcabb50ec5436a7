package io.github.holdfast.sharding;

import io.github.holdfast.lock.LockHandle;
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
final class DualHandle implements LockHandle {

    private final MigratingName moving;
    private final LockHandle present;
    private final LockHandle next;
    private final LockHandle ofToken;
    private final List<LockHandle> both;

    /**
     * Combines two handles.
     *
     * @param present the handle on the present shard
     * @param next the handle on the next shard
     * @param ofToken that of the two whose token counts
     */
    DualHandle(MigratingName moving, LockHandle present, LockHandle next, LockHandle ofToken) {
        this.moving = moving;
        this.present = present;
        this.next = next;
        this.ofToken = ofToken;
        this.both = List.of(present, next);
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
        return Handles.remaining(both);
    }

    @Override
    public void renew(Duration lease) {
        present.renew(lease);
        next.renew(lease);
    }

    @Override
    public void ensureValidFor(Duration duration) {
        Handles.ensureValidFor(both, duration);
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
        if (holdCount() != Math.max(present.holdCount(), next.holdCount())) {
            throw new IllegalStateException(
                    "Lock '" + name()
                            + "' cannot be downgraded: it is held more often on one of its two shards: release that hold first");
        }
        LockHandle shareOfPresent = downgradePresent();
        LockHandle shareOfNext = next;
        try {
            shareOfNext = next.downgrade();
            return moving.pair(shareOfPresent, shareOfNext, Duration.ZERO);
        } catch (RuntimeException | Error failed) {
            // One of the two would be shared, and the other not.
            Handles.releaseAfter(failed, List.of(shareOfPresent, shareOfNext));
            throw failed;
        }
    }

    private LockHandle downgradePresent() {
        LockState before = present.state();
        try {
            return present.downgrade();
        } catch (RuntimeException | Error failed) {
            // Nothing was done, unless the failure has released it.
            if (before != LockState.RELEASED && present.state() == LockState.RELEASED) {
                Handles.releaseAfter(failed, List.of(next));
            }
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
        ReleaseOutcome ofNext;
        try {
            ofNext = next.release();
        } catch (RuntimeException | Error failed) {
            Handles.releaseAfter(failed, List.of(present));
            throw failed;
        }
        ReleaseOutcome ofPresent = present.release();
        boolean wasLost = ofNext == ReleaseOutcome.LOST || ofPresent == ReleaseOutcome.LOST;
        return wasLost ? ReleaseOutcome.LOST : worse(ofNext, ofPresent);
    }

    @Override
    public void close() {
        try {
            next.close();
        } catch (RuntimeException | Error failed) {
            Handles.doAfter(failed, present::close);
            throw failed;
        }
        present.close();
    }

    @Override
    public String toString() {
        return "DualHandle" + both;
    }
}
