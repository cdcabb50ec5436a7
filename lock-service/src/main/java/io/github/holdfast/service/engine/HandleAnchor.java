package io.github.holdfast.service.engine;

import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/** The object to which all handles of a hold refer. It becomes garbage with the last handle. Thread-safe. */
final class HandleAnchor {

    /** What a message about the loss of a hold adds if all handles are garbage. */
    static final String ADVICE =
            ". Its handle was dropped without a release, so the transactions of this thread are refused"
                    + " until the thread acquires the lock again, in the same way and outside a transaction";

    private WeakReference<Object> anchor = new WeakReference<>(null);
    private boolean isGiven;
    private boolean isDetached;

    /** The stack of the acquisition; null if it is not known. */
    private volatile @Nullable Throwable acquisition;

    /** What was reported as a leak. Only the thread of the leak detector uses these. */
    private boolean isLongReported;

    private boolean isDropReported;

    /** Returns the object for a new handle. */
    synchronized Object get() {
        Object existing = anchor.get();
        Object shared = existing == null ? new Object() : existing;
        anchor = new WeakReference<>(shared);
        isGiven = true;
        return shared;
    }

    /** Notes that a handle was detached: its owner may keep the lock without keeping the handle. */
    synchronized void detach() {
        isDetached = true;
    }

    /** Whether all handles are garbage, and none was detached. */
    synchronized boolean isDropped() {
        return isGiven && !isDetached && isGone();
    }

    /** Whether all handles are garbage. */
    synchronized boolean isGone() {
        return anchor.get() == null;
    }

    void acquired(Throwable stack) {
        acquisition = stack;
    }

    @Nullable
    Throwable acquisition() {
        return acquisition;
    }

    /** Notes that a report is due because of a drop; returns false if there was one. */
    boolean reportDrop() {
        boolean isFirst = !isDropReported;
        isDropReported = true;
        return isFirst;
    }

    /** Notes that a report is due because of a long time; returns false if there was one, of whatever kind. */
    boolean reportLong() {
        boolean isFirst = !isLongReported && !isDropReported;
        isLongReported = true;
        return isFirst;
    }
}
