package io.github.holdfast.service;

import java.lang.ref.WeakReference;
import org.jspecify.annotations.Nullable;

/** What all handles of one hold refer to, so that it is garbage when the last of them is. Thread-safe. */
final class HandleAnchor {

    private volatile @Nullable WeakReference<Object> anchor;

    /** Returns what a new handle is to refer to. */
    synchronized Object get() {
        WeakReference<Object> existing = anchor;
        Object shared = existing == null ? null : existing.get();
        if (shared == null) {
            shared = new Object();
            anchor = new WeakReference<>(shared);
        }
        return shared;
    }

    boolean isGarbage() {
        WeakReference<Object> existing = anchor;
        return existing == null || existing.get() == null;
    }
}
