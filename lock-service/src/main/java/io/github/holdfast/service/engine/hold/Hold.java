package io.github.holdfast.service.engine.hold;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.tx.HoldTransactions;
import jakarta.persistence.EntityManager;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One grant of a lock, from the grant to the last release. The handles of its nested acquisitions share it. All of them refer to one
 * object, which becomes garbage with the last of them, so the hold notices that its handles were dropped. Thread-safe.
 */
public abstract class Hold {

    /** What a message about the loss of a hold adds if all handles are garbage. */
    public static final String DROPPED =
            ". Its handle was dropped without a release, so the transactions of this thread are refused"
                    + " until the thread acquires the lock again, in the same way and outside a transaction";

    private final HoldTransactions holdTransactions = new HoldTransactions();
    private final Ticker ticker;
    private final long acquiredAt;
    private WeakReference<Object> anchor = new WeakReference<>(null);
    private boolean isAnchored;
    private boolean isDetached;
    private volatile boolean isReplaced;

    /** The stack of the acquisition; null if it is not known. */
    private volatile @Nullable Throwable acquisition;

    /** Whether a long time is no leak, or was reported as one. */
    private volatile boolean isLongReported;

    /** Only the thread of the monitor uses this. */
    private boolean isDropReported;

    public Hold(Ticker ticker) {
        this.ticker = ticker;
        this.acquiredAt = ticker.nanoTime();
    }

    // For its handles: each documents what LockHandle documents

    public abstract String name();

    public abstract String owner();

    public abstract LockMode mode();

    public abstract long fencingToken();

    /** The token that the row shows, for listeners. */
    public abstract long tokenInRow();

    public abstract int holdCount();

    public abstract LockState state();

    public abstract Duration remaining();

    public abstract void renew(Duration atLeast);

    public abstract void ensureValidFor(Duration wanted);

    public abstract void guard();

    public abstract void guard(EntityManager entityManager);

    public abstract boolean isFenced();

    public abstract void detach();

    public abstract LockHandle downgrade(Handle handle);

    public abstract void onLost(Consumer<LockLost> handler);

    /** Releases a handle, unless it was released before. */
    public abstract ReleaseOutcome release(Handle handle);

    /** The exception for the caller of {@link LockHandle#close}, if the hold was lost; empty if there is nothing to report. */
    public abstract Optional<LockLostException> lossOnClose();

    /** The token, or why there is none, for the readable form of a handle. */
    public abstract String tokenText();

    // For what keeps it

    public abstract boolean isLost();

    /** Reports the loss of a hold that has expired by the local clock; returns whether it is lost. */
    public abstract boolean expireIfOver();

    public abstract @Nullable Thread acquiredBy();

    /** Whether nothing can release the hold any more, because its handles are garbage. */
    public abstract boolean isForgotten();

    /** Whether no transaction of the acquiring thread is refused for the hold any more, although it is lost. */
    public abstract boolean isOutOfFence();

    /** A new handle for this hold. */
    public final LockHandle handle() {
        return new Handle(this, anchor());
    }

    private synchronized Object anchor() {
        Object existing = anchor.get();
        Object shared = existing == null ? new Object() : existing;
        anchor = new WeakReference<>(shared);
        isAnchored = true;
        return shared;
    }

    /** Notes that a handle was detached: its owner may keep the lock without keeping the handle. */
    public final synchronized void detached() {
        isDetached = true;
    }

    /** Notes that it belongs to a thread, after all handles that were detached have been released. */
    final synchronized void attached() {
        isDetached = false;
    }

    final synchronized boolean isDetached() {
        return isDetached;
    }

    /** Whether all handles are garbage, and none was detached. */
    public final synchronized boolean areHandlesDropped() {
        return isAnchored && !isDetached && areHandlesGone();
    }

    /** Whether all handles are garbage. */
    public final synchronized boolean areHandlesGone() {
        return anchor.get() == null;
    }

    public final HoldTransactions holdTransactions() {
        return holdTransactions;
    }

    /** How long ago it was granted, or this service learned of the grant. */
    public final Duration heldFor() {
        return Duration.ofNanos(ticker.nanoTime() - acquiredAt);
    }

    /** Notes that the acquiring thread has acquired the lock again, after this hold was lost. */
    public final void replaced() {
        isReplaced = true;
    }

    public final boolean isReplaced() {
        return isReplaced;
    }

    // For the warning of leaks

    public final void acquired(Throwable stack) {
        acquisition = stack;
    }

    public final @Nullable Throwable acquisition() {
        return acquisition;
    }

    /** Notes that it is held for as long as the process lives, so that a long time is no leak. */
    final void mayLast() {
        isLongReported = true;
    }

    /** Notes that a report is due because of a drop; returns false if there was one. */
    public final boolean reportDrop() {
        boolean isFirst = !isDropReported;
        isDropReported = true;
        return isFirst;
    }

    /** Notes that a report is due because of a long time; returns false if there was one, of whatever kind. */
    public final boolean reportLong() {
        boolean isFirst = !isLongReported && !isDropReported;
        isLongReported = true;
        return isFirst;
    }
}
