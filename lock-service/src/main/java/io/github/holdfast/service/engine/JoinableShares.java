package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.service.engine.AttemptResult.ShareGranted;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The shares of one service that threads can join, and those that they have joined. Thread-safe. */
final class JoinableShares {

    private final Map<String, JoinableShare> byName = new ConcurrentHashMap<>();

    /** Includes those that nobody can join any more, while they have holds. */
    private final Map<Grant, JoinableShare> byGrant = new ConcurrentHashMap<>();

    /**
     * Keeps a share until its last hold ends.
     *
     * @param request the request that it was granted for; without a lease
     * @return the hold of the calling thread
     */
    LeaseHold open(HoldContext context, LockRequest request, ShareGranted granted) {
        Grant grant = granted.grant();
        JoinableShare share = new JoinableShare(context, request, granted, () -> remove(grant));
        byGrant.put(grant, share);
        byName.put(grant.name(), share);
        return share.first();
    }

    private void remove(Grant grant) {
        JoinableShare share = byGrant.remove(grant);
        if (share != null) {
            byName.remove(grant.name(), share);
        }
    }

    /** Adds a hold to a share of this lock; returns empty if there is none that the calling thread can join. */
    Optional<LeaseHold> join(LockRequest request, Deadline deadline) {
        JoinableShare share = byName.get(request.name());
        return share == null ? Optional.empty() : share.join(request, deadline);
    }

    /** Stops threads from joining the share of this lock: somebody wants the lock alone. */
    void close(String name) {
        close(byName.remove(name));
    }

    /** Stops threads from joining this share, because a hold of it is lost. */
    void close(Grant grant) {
        close(byGrant.get(grant));
    }

    private static void close(@Nullable JoinableShare share) {
        if (share != null) {
            share.close();
        }
    }

    /** Forgets shares that are lost, because nobody may release their holds any more. */
    void removeLost() {
        byGrant.values().stream()
                .filter(JoinableShare::isLost)
                .forEach(share -> remove(share.first().grant()));
    }

    /** Returns the grants that have holds, or that threads are joining. */
    Set<Grant> grants() {
        return Set.copyOf(byGrant.keySet());
    }
}
