package io.github.holdfast.service.engine;

import java.lang.ref.WeakReference;

/** The object to which all handles of a hold refer. It becomes garbage with the last handle. Thread-safe. */
final class HandleAnchor {

    /** What a message about the loss of a hold adds if all handles are garbage. */
    static final String ADVICE =
            ". Its handle was dropped without a release, so the transactions of this thread are refused"
                    + " until the thread acquires the lock again, in the same way and outside a transaction";

    private WeakReference<Object> anchor = new WeakReference<>(null);
    private boolean isGiven;
    private boolean isDetached;

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
}
