package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.springframework.format.datetime.standard.DurationFormatterUtils;

/** The content of one annotation: the lock, and how the method holds it. Immutable. */
record LockedSpec(
        LockName name,
        @Nullable Duration waitAtMost,
        @Nullable Duration lease,
        boolean rowLock,
        boolean fair,
        Locked.Fence fence,
        Reentry reentry) {

    /** Whether the calling thread owns the lock and may re-enter it. */
    enum Reentry {
        BY_THREAD,
        NONE
    }

    /**
     * Reads an annotation.
     *
     * @param properties replaces properties by their values
     * @throws IllegalArgumentException if the annotation is wrong; the message says why
     */
    static LockedSpec of(Locked locked, LockName name, Reentry reentry, UnaryOperator<String> properties) {
        LockedSpec spec = new LockedSpec(
                name,
                duration("waitAtMost", locked.waitAtMost(), properties),
                duration("lease", locked.lease(), properties),
                locked.rowLock(),
                locked.fair(),
                locked.fence(),
                reentry);
        if (spec.rowLock && reentry == Reentry.NONE) {
            throw new IllegalArgumentException(
                    "a row lock belongs to its thread's transaction, and cannot be held until a stage completes: remove"
                            + " rowLock");
        }
        LockRequest unused = spec.request(name.fixed().orElse("known at each call"));
        return spec;
    }

    private static @Nullable Duration duration(String attribute, String value, UnaryOperator<String> properties) {
        String text = properties.apply(value).strip();
        if (text.isEmpty()) {
            return null;
        }
        try {
            return DurationFormatterUtils.detectAndParse(text);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(
                    attribute + " '" + text + "' is not a duration: write '500ms', '10s', '1m30s' or 'PT10S'", wrong);
        }
    }

    /**
     * Returns the request for the lock service.
     *
     * @throws IllegalArgumentException if the name or another value is not valid
     */
    LockRequest request(String lockName) {
        LockRequest request = LockRequest.of(lockName);
        if (waitAtMost != null) {
            request = request.waitAtMost(waitAtMost);
        }
        if (lease != null) {
            request = request.lease(lease);
        }
        if (reentry == Reentry.NONE) {
            request = request.notReentrant();
        }
        if (fair) {
            request = request.fair();
        }
        request = switch (fence) {
            case IF_POSSIBLE -> request;
            case REQUIRED -> request.requireFence();
            case NONE -> request.withoutFence();
        };
        return rowLock ? request.rowLock() : request;
    }
}
