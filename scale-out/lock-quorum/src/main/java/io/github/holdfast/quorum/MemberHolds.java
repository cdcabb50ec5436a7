package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** The holds that are neither lost nor given back, and the threads that can re-enter them. Thread-safe. */
final class MemberHolds {

    private record Key(Thread thread, String name) {

        static Key of(QuorumHold hold) {
            return new Key(hold.acquirer(), hold.name());
        }
    }

    private final Map<QuorumHold, MajorityAttempt> open = new ConcurrentHashMap<>();
    private final Map<Key, QuorumHold> ofThreads = new ConcurrentHashMap<>();

    void add(QuorumHold hold, MajorityAttempt attempt) {
        open.put(hold, attempt);
    }

    /** Lets the thread that has acquired this hold re-enter it. */
    void attach(QuorumHold hold) {
        ofThreads.put(Key.of(hold), hold);
        if (!hold.isHeld()) {
            // It was lost before it was here.
            detach(hold);
        }
    }

    void detach(QuorumHold hold) {
        ofThreads.remove(Key.of(hold), hold);
    }

    void remove(QuorumHold hold) {
        open.remove(hold);
        detach(hold);
    }

    /**
     * Returns a nested handle, if this thread holds the lock and the request may re-enter it. Returns none if the hold is lost: the
     * request is a new acquisition then.
     *
     * @throws IllegalStateException if the hold has a lease, but the request has none
     */
    Optional<LockHandle> reenter(LockRequest request) {
        QuorumHold own = ofThreads.get(new Key(Thread.currentThread(), request.name()));
        if (own == null || !request.isReentrant() || !own.isHeld()) {
            return Optional.empty();
        }
        boolean hasLease = own.request().lease().isPresent();
        if (hasLease && request.lease().isEmpty()) {
            throw new IllegalStateException(
                    "This thread holds lock '" + request.name() + "' with a lease, but the nested request has none");
        }
        if (!own.reenter()) {
            return Optional.empty();
        }
        LockHandle nested = new QuorumHandle(own);
        try {
            request.lease().filter(lease -> hasLease).ifPresent(nested::ensureValidFor);
            return Optional.of(nested);
        } catch (RuntimeException thrown) {
            nested.release();
            if (own.isHeld()) {
                throw thrown;
            }
            return Optional.empty();
        }
    }

    void forEach(Consumer<QuorumHold> work) {
        open.keySet().forEach(work);
    }

    /** Asks the members that are missing, where it is time to. */
    void heal() {
        for (MajorityAttempt attempt : open.values()) {
            try {
                attempt.heal();
            } catch (RuntimeException | Error thrown) {
                // An exception would end the healing of all holds for good. This one is healed again later.
                Thread thread = Thread.currentThread();
                thread.getUncaughtExceptionHandler().uncaughtException(thread, thrown);
            }
        }
    }
}
