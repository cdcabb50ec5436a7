package io.github.holdfast.service.engine;

import java.lang.ref.WeakReference;

/** The object to which all handles of a hold refer. It becomes garbage with the last handle. Thread-safe. */
final class HandleAnchor {

    private WeakReference<Object> anchor = new WeakReference<>(null);

    /** Returns the object for a new handle. */
    synchronized Object get() {
        Object existing = anchor.get();
        Object shared = existing == null ? new Object() : existing;
        anchor = new WeakReference<>(shared);
        return shared;
    }

    /** Whether all handles are garbage. */
    synchronized boolean isGone() {
        return anchor.get() == null;
    }
}
