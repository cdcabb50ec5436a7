package io.github.holdfast.sharding;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LossCause;
import java.time.Duration;
import java.util.Collection;
import java.util.List;

/** Operations on several handles. */
final class Handles {

    private Handles() {}

    /** Releases all, the last one first, even if the release of another throws. */
    static void release(Collection<LockHandle> handles) {
        LockHandles.of(List.copyOf(handles)).release();
    }

    /** Releases all because of a failure, which the caller then throws. */
    static void releaseAfter(Throwable failure, Collection<LockHandle> handles) {
        doAfter(failure, () -> release(handles));
    }

    /** Does something in spite of a failure, which the caller then throws. */
    static void doAfter(Throwable failure, Runnable last) {
        try {
            last.run();
        } catch (RuntimeException | Error alsoFailed) {
            failure.addSuppressed(alsoFailed);
        }
    }

    /**
     * Ensures that all are valid for this long at the same moment.
     *
     * @throws LockLostException if one is lost, or valid for less
     */
    static void ensureValidFor(List<LockHandle> handles, Duration duration) {
        handles.forEach(handle -> handle.ensureValidFor(duration));
        if (remaining(handles).compareTo(duration) < 0) {
            // The renewal of a later one took as long as an earlier one had been given in addition.
            handles.forEach(handle -> handle.ensureValidFor(duration));
        }
        checkRemaining(handles, duration);
    }

    /**
     * Checks that all are held, and valid for this long. It asks no database.
     *
     * @throws LockLostException if not
     */
    static void checkRemaining(List<LockHandle> handles, Duration duration) {
        Duration left = remaining(handles);
        if (left.isZero() || left.compareTo(duration) < 0) {
            throw new LockLostException(
                    handles.get(0).name(),
                    LossCause.EXPIRED,
                    "on one of its two shards it is valid only for another " + left);
        }
    }

    static Duration remaining(List<LockHandle> handles) {
        return LockHandles.of(handles).remaining();
    }
}
