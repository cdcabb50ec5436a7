package io.github.holdfast.annotation;

import io.github.holdfast.annotation.method.MethodChecks;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;

/** The content of one {@link Locked}: the lock, and how the method holds it. Immutable. */
record LockedSpec(LockName name, HoldSpec hold, LockMode mode, boolean rowLock, boolean fair, Reentry reentry) {

    private static final HoldSpec.Setters<LockRequest> SETTERS = new HoldSpec.Setters<>(
            LockRequest::waitAtMost, LockRequest::lease, LockRequest::requireFence, LockRequest::withoutFence);

    /** Whether the calling thread owns the lock and may re-enter it. */
    enum Reentry {
        BY_THREAD,
        NONE
    }

    /**
     * Reads an annotation.
     *
     * @throws IllegalArgumentException if the annotation is wrong; the message says why
     */
    static LockedSpec of(Locked locked, AnnotationSite site) {
        LockedSpec spec = new LockedSpec(
                site.name(locked.name(), DefaultName::ofLock),
                HoldSpec.of(locked.waitAtMost(), locked.lease(), locked.fence(), site),
                locked.mode(),
                locked.rowLock(),
                locked.fair(),
                MethodChecks.returnsStage(site.method()) ? Reentry.NONE : Reentry.BY_THREAD);
        if (spec.rowLock && spec.reentry == Reentry.NONE) {
            throw new IllegalArgumentException(
                    "a row lock belongs to its thread's transaction, and cannot be held until a stage completes: remove"
                            + " rowLock");
        }
        LockRequest unused = spec.request(spec.name.sample());
        return spec;
    }

    /**
     * Returns the request for the lock service.
     *
     * @throws IllegalArgumentException if the name or another value is not valid
     */
    LockRequest request(String lockName) {
        LockRequest request = hold.applyTo(LockRequest.of(lockName), SETTERS);
        if (reentry == Reentry.NONE) {
            request = request.notReentrant();
        }
        if (fair) {
            request = request.fair();
        }
        if (mode == LockMode.SHARED) {
            request = request.shared();
        }
        return rowLock ? request.rowLock() : request;
    }
}
