package io.github.holdfast.lock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The handles of several locks that {@link Locks#acquireAll} acquired together. Closing this object releases all of them. Any
 * thread may use it.
 */
public final class LockHandles implements AutoCloseable {

    private final List<LockHandle> handles;

    private LockHandles(List<LockHandle> handles) {
        this.handles = List.copyOf(handles);
    }

    /**
     * Combines these handles into one object, for an implementation of {@link Locks#acquireAll}.
     *
     * @param handles in the order of their names, which is the order of acquisition
     */
    public static LockHandles of(List<LockHandle> handles) {
        return new LockHandles(handles);
    }

    /** Returns the handles, in the order of their names. */
    public List<LockHandle> handles() {
        return handles;
    }

    /** Returns the handle of the lock with this name; empty if there is none. */
    public Optional<LockHandle> handle(String name) {
        return handles.stream().filter(handle -> handle.name().equals(name)).findFirst();
    }

    /** Returns how much longer no other owner can get any of the locks; zero if one was released or lost. */
    public Duration remaining() {
        return handles.stream()
                .map(LockHandle::remaining)
                .min(Comparator.naturalOrder())
                .orElse(Duration.ZERO);
    }

    /**
     * Ensures that no other owner can get any of the locks for this long. Calls {@link LockHandle#ensureValidFor} for each, and once more if
     * the renewal of one took so long that another is valid for less.
     *
     * @throws LockLostException if one is lost, or valid for less
     * @throws LockStoreException if the database failed
     */
    public void ensureValidFor(Duration duration) {
        handles.forEach(handle -> handle.ensureValidFor(duration));
        if (remaining().compareTo(duration) < 0) {
            handles.forEach(handle -> handle.ensureValidFor(duration));
        }
        Duration left = remaining();
        if (!handles.isEmpty() && left.compareTo(duration) < 0) {
            throw new LockLostException(
                    handles.get(0).name(),
                    LossCause.EXPIRED,
                    "one of the locks that were acquired with it is valid only for another " + left);
        }
    }

    /**
     * Releases all locks, the last one first. A lost lock or a failed database never makes this method throw. If a release throws for another
     * reason, the others are still released.
     */
    public void release() {
        forEach(LockHandle::release);
    }

    /**
     * Releases all locks, the last one first.
     *
     * @throws LockLostException if one was lost before. The others are still released. Further losses are added to the
     *     exception as suppressed
     */
    @Override
    public void close() {
        forEach(LockHandle::close);
    }

    /** Ends all handles, the last one first, whatever one of them throws. */
    private void forEach(Consumer<LockHandle> end) {
        List<LockHandle> reversed = new ArrayList<>(handles);
        Collections.reverse(reversed);
        @Nullable Throwable first = null;
        for (LockHandle handle : reversed) {
            try {
                end.accept(handle);
            } catch (RuntimeException | Error thrown) {
                if (first == null) {
                    first = thrown;
                } else if (first != thrown) {
                    first.addSuppressed(thrown);
                }
            }
        }
        if (first instanceof RuntimeException exception) {
            throw exception;
        }
        if (first instanceof Error error) {
            throw error;
        }
    }

    @Override
    public String toString() {
        return "LockHandles" + handles;
    }
}
