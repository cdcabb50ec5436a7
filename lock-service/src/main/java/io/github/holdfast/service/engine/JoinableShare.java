package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.AttemptResult.ShareGranted;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A share of a lock, held through a node, that other threads of this process can join without a statement. Each thread has a hold of
 * its own. The last hold that ends gives the share back. Thread-safe.
 */
final class JoinableShare {

    /** How long threads join without asking the database whether somebody wants the lock alone. */
    private static final Duration FRESH = Duration.ofSeconds(1);

    private final HoldCollaborators collaborators;
    private final ShareGranted granted;
    private final HolderRow row;
    private final Runnable whenGivenBack;
    private final LeaseHold first;
    private int holds;
    private int fencedHolds;
    private boolean isClosed;

    /** The local time before the last look that showed nobody who wants the lock alone. */
    private volatile long lookedAt;

    /** How many reconciliations had begun before the last look that showed the share. */
    private volatile long reconciliations;

    /**
     * A share that has the hold of one thread.
     *
     * @param request the request of that thread; without a lease
     * @param whenGivenBack called when the last hold has ended
     */
    JoinableShare(HoldCollaborators collaborators, LockRequest request, ShareGranted granted, Runnable whenGivenBack) {
        this.collaborators = collaborators;
        this.granted = granted;
        this.row = new HolderRow(collaborators.access(), granted.grant());
        this.whenGivenBack = whenGivenBack;
        this.first = hold(request, granted, enter(request));
        this.lookedAt = granted.term().validFrom();
        this.reconciliations = granted.term().reconciliations();
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
     * Adds a hold, if the last look is fresh. Needs no statement.
     *
     * @return empty if the thread cannot join
     * @throws LockLostException if the share was lost meanwhile
     */
    Optional<LeaseHold> join(LockRequest request) {
        // First of all: the new hold must not last longer than what the checks below have seen.
        long now = collaborators.access().ticker().nanoTime();
        Duration remaining = first.lifetime().remaining();
        if (!isValid() || !isFresh()) {
            return Optional.empty();
        }
        Part part = enterIfRoom(request);
        if (part == null) {
            return Optional.empty();
        }
        try {
            GrantTerm term = new GrantTerm(granted.term().node(), now, remaining, reconciliations);
            ShareGranted joined = new ShareGranted(granted.grant(), term, 0, false);
            return Optional.of(Acquisition.stillValid(hold(request, joined, part), term));
        } catch (RuntimeException | Error thrown) {
            part.abandon();
            throw thrown;
        }
    }

    private LeaseHold hold(LockRequest request, ShareGranted joined, Part part) {
        return new LeaseHold(collaborators, request, joined, part, Succession.NOBODY, LeaseHold.Downgrader.REFUSE);
    }

    /** Whether the first hold is valid, or would be without its release. */
    boolean isValid() {
        return first.lifetime().state() == LockState.HELD;
    }

    boolean isLost() {
        return first.lifetime().isLost();
    }

    private boolean isFresh() {
        return collaborators.access().ticker().nanoTime() - lookedAt < FRESH.toNanos()
                && collaborators.heartbeat().reconciliations() == reconciliations;
    }

    /** Asks the database whether threads may go on to join, with two statements. A failure is left to the acquisition that follows. */
    boolean look(Deadline deadline) {
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
                lookedAt = now;
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
