package io.github.holdfast.service;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Several locks that were acquired together, through {@link LockService#acquireAll}. Closing it releases all. Any thread may use
 * it.
 */
public final class LockHandles implements AutoCloseable {

    private final List<LockHandle> handles;

    LockHandles(List<LockHandle> handles) {
        this.handles = List.copyOf(handles);
    }

    /** Returns the handles, in the order of their names. */
    public List<LockHandle> handles() {
        return handles;
    }

    /** Returns the handle of this lock; empty if it is not among them. */
    public Optional<LockHandle> handle(String name) {
        return handles.stream().filter(handle -> handle.name().equals(name)).findFirst();
    }

    /** Returns for how long nobody else can be granted any of the locks; zero if one was released or lost. */
    public Duration remaining() {
        return handles.stream()
                .map(LockHandle::remaining)
                .min(Comparator.naturalOrder())
                .orElse(Duration.ZERO);
    }

    /**
     * Makes sure that nobody else can be granted any of the locks for this long; as {@link LockHandle#ensureValidFor} for each.
     *
     * @throws LockLostException if one is lost
     * @throws LockStoreException if the database failed
     */
    public void ensureValidFor(Duration duration) {
        handles.forEach(handle -> handle.ensureValidFor(duration));
    }

    /** Releases all, the last one first; never throws because one was lost or the database failed. */
    public void release() {
        reversed().forEach(LockHandle::release);
    }

    /**
     * Releases all, the last one first.
     *
     * @throws LockLostException if one was lost before; the others are released, and what else was lost is suppressed by it
     */
    @Override
    public void close() {
        @Nullable RuntimeException first = null;
        for (LockHandle handle : reversed()) {
            try {
                handle.close();
            } catch (RuntimeException thrown) {
                if (first == null) {
                    first = thrown;
                } else {
                    first.addSuppressed(thrown);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }

    private List<LockHandle> reversed() {
        List<LockHandle> reversed = new ArrayList<>(handles);
        Collections.reverse(reversed);
        return reversed;
    }

    @Override
    public String toString() {
        return "LockHandles" + handles;
    }
}
