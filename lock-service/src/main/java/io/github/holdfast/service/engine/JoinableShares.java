package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockStore;
import io.github.holdfast.service.engine.AttemptResult.ShareGranted;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/** The shares of one service that threads can join, and those that they have joined. Thread-safe. */
final class JoinableShares implements HoldRegistry.SharedGrants {

    /** Several for one name where a share has room for few holds. */
    private final Map<String, Set<JoinableShare>> byName = new ConcurrentHashMap<>();

    /** Includes those that nobody can join any more, while they have holds. */
    private final Map<Grant, JoinableShare> byGrant = new ConcurrentHashMap<>();

    /** The hold of a thread that a share of a lock was just granted to. Other threads can join the share, if it is possible. */
    LeaseHold hold(HoldCollaborators collaborators, LockRequest request, ShareGranted granted) {
        return isPossible(collaborators.access().store(), request)
                ? open(collaborators, request, granted)
                : LeaseHold.ofShare(collaborators, request, granted);
    }

    /**
     * Whether threads can join each other's shares. A share with a lease ends with the lease of one request. Where several servers
     * write, a guarded transaction changes the holder's row, so the next one under it would fail.
     */
    static boolean isPossible(LockStore store, LockRequest request) {
        return request.lease().isEmpty() && store.severalWriters().isEmpty();
    }

    /** Keeps a share until its last hold ends; returns the hold of the calling thread. */
    private LeaseHold open(HoldCollaborators collaborators, LockRequest request, ShareGranted granted) {
        Grant grant = granted.grant();
        JoinableShare share = new JoinableShare(collaborators, request, granted, () -> remove(grant));
        byGrant.put(grant, share);
        byName.compute(grant.name(), (name, others) -> {
            Set<JoinableShare> shares = others == null ? ConcurrentHashMap.newKeySet() : others;
            shares.add(share);
            return shares;
        });
        return share.first();
    }

    private void remove(Grant grant) {
        JoinableShare share = byGrant.remove(grant);
        if (share != null) {
            byName.computeIfPresent(grant.name(), (name, shares) -> {
                shares.remove(share);
                return shares.isEmpty() ? null : shares;
            });
        }
    }

    /**
     * Adds a hold to a share of this lock. Costs two statements if no share with room was looked at within a second, or since a
     * reconciliation.
     *
     * @return empty if there is none that the calling thread can join
     */
    Optional<LeaseHold> join(LockRequest request, Deadline deadline) {
        Set<JoinableShare> shares = byName.getOrDefault(request.name(), Set.of());
        return join(shares.stream(), request)
                .or(() -> join(withRoom(shares, request).filter(share -> share.look(deadline)), request));
    }

    private static Optional<LeaseHold> join(Stream<JoinableShare> shares, LockRequest request) {
        return shares.flatMap(share -> share.join(request).stream()).findFirst();
    }

    private static Stream<JoinableShare> withRoom(Set<JoinableShare> shares, LockRequest request) {
        return shares.stream()
                .filter(share -> share.isValid() && share.hasRoomFor(request))
                .limit(1);
    }

    /** Stops threads from joining the shares of this lock, because another thread waits to hold it exclusively. */
    void close(String name) {
        Set<JoinableShare> shares = byName.remove(name);
        if (shares != null) {
            shares.forEach(JoinableShare::close);
        }
    }

    @Override
    public void close(Grant grant) {
        JoinableShare share = byGrant.get(grant);
        if (share != null) {
            share.close();
        }
    }

    @Override
    public void removeLost() {
        byGrant.values().stream()
                .filter(JoinableShare::isLost)
                .forEach(share -> remove(share.first().grant()));
    }

    @Override
    public Set<Grant> grants() {
        return Set.copyOf(byGrant.keySet());
    }
}
