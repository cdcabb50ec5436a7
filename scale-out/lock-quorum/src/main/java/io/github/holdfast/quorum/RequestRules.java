package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;

/** Which requests a quorum can grant, and what it asks its members for. */
final class RequestRules {

    private RequestRules() {}

    /**
     * Checks a request.
     *
     * @throws UnsupportedOperationException if a quorum cannot grant it
     * @throws IllegalStateException if it requires a fence
     */
    static void check(LockRequest request) {
        if (request.isFenceRequired()) {
            throw new IllegalStateException("No transaction can be fenced by lock '" + request.name()
                    + "': it is held by several databases. Use a LockService on the database that is written");
        }
        refuse(request, request.isRowLock(), "a row lock");
        refuse(request, request.mode() == LockMode.SHARED, "shared");
        refuse(request, request.isFair(), "fair");
        refuse(request, request.owner().isPresent(), "acquired for a chosen owner");
        refuse(request, request.minimumHold().isPresent(), "acquired with a minimum hold");
    }

    private static void refuse(LockRequest request, boolean isAsked, String what) {
        if (isAsked) {
            throw unsupported(request.name(), what);
        }
    }

    static UnsupportedOperationException unsupported(String name, String what) {
        return new UnsupportedOperationException(
                "Lock '" + name + "' is held by several databases, and cannot be " + what);
    }

    /**
     * Returns what each member is asked for. It is acquired on a thread of the quorum, which has other holds too, so it must not
     * re-enter one of them or fence that thread's transactions.
     */
    static LockRequest forMember(LockRequest request) {
        LockRequest forMember = LockRequest.of(request.name()).notReentrant().withoutFence();
        return request.lease().map(forMember::lease).orElse(forMember);
    }
}
