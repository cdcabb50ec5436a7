package io.github.holdfast.service.engine.share;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.acquire.Acquisition;
import io.github.holdfast.service.engine.hold.HoldCollaborators;
import io.github.holdfast.service.engine.hold.HoldRegistry;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.HolderRow;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntUnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The shares of one service that threads can join, and those that they have joined. Thread-safe. */
public final class JoinableShares implements HoldRegistry.SharedGrants {

    /** Several for one name where a share has room for few holds. */
    private final Map<String, Set<JoinableShare>> byName = new ConcurrentHashMap<>();

    /** Includes those that no thread can join any more, while they have holds. */
    private final Map<Grant, JoinableShare> byGrant = new ConcurrentHashMap<>();

    /** The hold of a thread that a share of a lock was just granted to. Other threads can join the share, if it is possible. */
    LeaseHold hold(HoldCollaborators collaborators, LockRequest request, NewGrant.OfShare granted) {
        return isPossible(collaborators.access().store(), request)
                ? open(collaborators, request, granted)
                : LeaseHold.ofShare(
                        collaborators, request, granted, new HolderRow(collaborators.access(), granted.grant()));
    }

    /**
     * Whether threads can join each other's shares. A share with a lease ends with the lease of one request. Where several servers
     * write, a guarded transaction changes the holder's row, so the next one under it would fail.
     */
    static boolean isPossible(LockStore store, LockRequest request) {
        return request.lease().isEmpty() && store.severalWriters().isEmpty();
    }

    /** Keeps a share until its last hold ends; returns the hold of the calling thread. */
    private LeaseHold open(HoldCollaborators collaborators, LockRequest request, NewGrant.OfShare granted) {
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
     * Adds a hold to a share of this lock. Costs two statements if no share with room was checked within a second, or since a
     * reconciliation.
     *
     * @return empty if there is none that the calling thread can join
     */
    Optional<LeaseHold> join(LockRequest request, Deadline deadline) {
        Set<JoinableShare> shares = byName.getOrDefault(request.name(), Set.of());
        return join(shares.stream(), request)
                .or(() -> join(withRoom(shares, request).filter(share -> share.recheck(deadline)), request));
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
    public void close(String name) {
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
                .filter(JoinableShare::expireIfOver)
                .forEach(share -> remove(share.first().grant()));
    }

    @Override
    public Set<Grant> grants() {
        return Set.copyOf(byGrant.keySet());
    }

    /**
     * A share of a lock, held through a node, that other threads of this process can join without a statement. Each thread has a hold of
     * its own. The last hold that ends gives the share back. Thread-safe.
     */
    static final class JoinableShare {

        /** How long threads join without asking the database whether a waiter requests the lock exclusively. */
        private static final Duration FRESH = Duration.ofSeconds(1);

        private final HoldCollaborators collaborators;
        private final NewGrant.OfShare granted;
        private final HolderRow row;
        private final Runnable whenGivenBack;
        private final LeaseHold first;
        private int holds;
        private int fencedHolds;
        private boolean isClosed;

        /** The local time before the last read that showed no exclusive waiter. */
        private volatile long checkedAt;

        /** How many reconciliations had begun before the last read that showed the share. */
        private volatile long reconciliations;

        /**
         * A share that has the hold of one thread.
         *
         * @param request the request of that thread; without a lease
         * @param whenGivenBack called when the last hold has ended
         */
        JoinableShare(
                HoldCollaborators collaborators,
                LockRequest request,
                NewGrant.OfShare granted,
                Runnable whenGivenBack) {
            this.collaborators = collaborators;
            this.granted = granted;
            this.row = new HolderRow(collaborators.access(), granted.grant());
            this.whenGivenBack = whenGivenBack;
            this.first = hold(request, granted, enter(request));
            this.checkedAt = granted.validFrom();
            this.reconciliations = granted.reconciliations();
        }

        /** The hold of the thread that the share was granted to. */
        LeaseHold first() {
            return first;
        }

        /** Stops further threads from joining. */
        synchronized void close() {
            isClosed = true;
        }

        /**
         * Adds a hold, if the last check is fresh. Needs no statement.
         *
         * @return empty if the thread cannot join
         * @throws LockLostException if the share was lost meanwhile
         */
        Optional<LeaseHold> join(LockRequest request) {
            // First of all: the new hold must not last longer than what the checks below have seen.
            long now = collaborators.access().ticker().nanoTime();
            Duration remaining = first.lifetime().remaining();
            if (remaining.isZero() || !isValid() || !isFresh()) {
                return Optional.empty();
            }
            Part part = enterIfRoom(request);
            if (part == null) {
                return Optional.empty();
            }
            try {
                NewGrant.OfShare joined = new NewGrant.OfShare(
                        granted.grant(), granted.node(), now, remaining, reconciliations, 0, false);
                return Optional.of(Acquisition.stillValid(hold(request, joined, part), joined));
            } catch (RuntimeException | Error thrown) {
                part.abandon();
                throw thrown;
            }
        }

        private LeaseHold hold(LockRequest request, NewGrant.OfShare joined, Part part) {
            return LeaseHold.ofShare(collaborators, request, joined, part);
        }

        /** Whether the first hold is valid, or would be without its release. */
        boolean isValid() {
            return first.lifetime().state() == LockState.HELD;
        }

        boolean expireIfOver() {
            return first.expireIfOver();
        }

        private boolean isFresh() {
            return collaborators.access().ticker().nanoTime() - checkedAt < FRESH.toNanos()
                    && collaborators.heartbeat().reconciliations() == reconciliations;
        }

        /** Checks with two statements whether more threads may join. A failure is left to the acquisition that follows. */
        boolean recheck(Deadline deadline) {
            long now = collaborators.access().ticker().nanoTime();
            long begun = collaborators.heartbeat().reconciliations();
            try {
                Optional<LockSnapshot> seen = collaborators
                        .access()
                        .autocommit(deadline.forOneStatement())
                        .read(row.name());
                boolean isOpen = seen.filter(JoinableShare::isOpen).isPresent()
                        && row.lossCause().isEmpty();
                if (isOpen) {
                    reconciliations = begun;
                    checkedAt = now;
                } else {
                    close();
                }
                return isOpen;
            } catch (StoreException failed) {
                return false;
            }
        }

        private static boolean isOpen(LockSnapshot seen) {
            LockEntity row = seen.row();
            return row.isShared() && !row.isReserved(seen.dbNow());
        }

        /** Whether the holder's row may guard the transactions of one more thread at the same time. */
        synchronized boolean hasRoomFor(LockRequest request) {
            return !isClosed
                    && (request.isUnfenced()
                            || fencedHolds < collaborators.access().store().mostGuardsOfRow());
        }

        private synchronized @Nullable Part enterIfRoom(LockRequest request) {
            return hasRoomFor(request) ? enter(request) : null;
        }

        private synchronized Part enter(LockRequest request) {
            holds++;
            fencedHolds += guards(request);
            return new Part(guards(request));
        }

        private static int guards(LockRequest request) {
            return request.isUnfenced() ? 0 : 1;
        }

        /** Returns whether the last hold has left. */
        private synchronized boolean leave(int guards) {
            holds--;
            fencedHolds -= guards;
            isClosed |= holds == 0;
            return holds == 0;
        }

        /** The part of one hold. Only the last one gives the row back, and only the process counts nested acquisitions. */
        private final class Part implements HoldRow {

            private final int guards;
            private volatile boolean hasLeft;
            private volatile boolean isLast;

            private Part(int guards) {
                this.guards = guards;
            }

            @Override
            public String name() {
                return row.name();
            }

            @Override
            public String owner() {
                return row.owner();
            }

            @Override
            public int holdCount() {
                return isReleased() ? 0 : 1;
            }

            @Override
            public boolean isReleased() {
                return hasLeft && (!isLast || row.isReleased());
            }

            @Override
            public ReleaseOutcome giveBack(int left) {
                if (left > 0) {
                    return ReleaseOutcome.STILL_HELD;
                }
                leaveOnce();
                if (!isLast) {
                    return ReleaseOutcome.RELEASED;
                }
                ReleaseOutcome outcome = row.giveBack(0);
                whenGivenBack.run();
                return outcome;
            }

            @Override
            public void abandon() {
                leaveOnce();
                if (isLast) {
                    row.abandon();
                    whenGivenBack.run();
                }
            }

            private void leaveOnce() {
                if (!hasLeft) {
                    isLast = leave(guards);
                    hasLeft = true;
                }
            }

            @Override
            public void touch() {
                row.touch();
            }

            @Override
            public boolean recount(IntUnaryOperator count, Node node, Deadline deadline) {
                return true;
            }

            @Override
            public boolean extend(IntUnaryOperator count, Duration atLeast, Runnable sending, Deadline deadline)
                    throws InterruptedException {
                return row.extend(count, atLeast, sending, deadline);
            }

            @Override
            public Optional<Duration> left() {
                return row.left();
            }

            @Override
            public Optional<LossCause> lossCause() {
                return row.lossCause();
            }
        }
    }
}
