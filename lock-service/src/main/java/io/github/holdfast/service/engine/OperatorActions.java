package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.HolderRows.LimitChange;
import io.github.holdfast.repository.rows.HolderRows.Usage;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.LockLog;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.function.Predicate;

/**
 * What operators change in locks and semaphores. Each change is repeated until the database answers, and is not interruptible. If an
 * unanswered attempt took effect, its result counts. Thread-safe.
 */
final class OperatorActions {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final LockAccess access;
    private final Duration nodeLease;
    private final Duration clockTolerance;
    private final String doneBy;

    /**
     * Actions of one operator.
     *
     * @param nodeLease the node lease of this service; that of the holder's service counts if it is longer
     * @param clockTolerance by how much the clock of a new primary may be ahead
     * @param doneBy a readable description of the operator's process
     */
    OperatorActions(LockAccess access, Duration nodeLease, Duration clockTolerance, String doneBy) {
        this.access = access;
        this.nodeLease = nodeLease;
        this.clockTolerance = clockTolerance;
        this.doneBy = doneBy;
    }

    /**
     * Releases a lock by force. The holders of a shared lock lose it one after the other, each in a transaction of its own: the wait for one
     * that protects its hold must not block the commits of the others.
     *
     * @param isMeant selects the holders that lose the lock
     * @return the previous holder, or the first of those that shared the lock; empty if no such holder has the lock
     * @throws StoreException if the database failed
     */
    Optional<LockInfo> forceRelease(String name, Predicate<LockInfo> isMeant, String reason) {
        ForcedRelease release = new ForcedRelease(name, isMeant, reason);
        Optional<LockInfo> holder = access.untilAnswered(LIMIT, release::attempt);
        holder.ifPresent(info -> LockLog.forced(info, reason));
        return release.sharing.isEmpty() ? holder : forceRelease(release.sharing, reason);
    }

    private Optional<LockInfo> forceRelease(List<LockInfo> shares, String reason) {
        List<LockInfo> former = new ArrayList<>();
        for (LockInfo share : shares) {
            ForcedShare forced = new ForcedShare(share.name(), share.fencingToken(), reason);
            if (access.untilAnswered(LIMIT, locks -> forced.attempt()).isPresent()) {
                LockLog.forced(share, reason);
                former.add(share);
            }
        }
        return former.stream().findFirst();
    }

    /**
     * Takes the permits of one grant from their holder.
     *
     * @return the previous holder; empty if the grant no longer stands, or the name is not that of a semaphore
     * @throws StoreException if the database failed
     */
    Optional<HolderSnapshot> forceReleasePermits(String semaphore, long fencingToken, String reason) {
        ForcedShare permits = new ForcedShare(semaphore, fencingToken, reason);
        Optional<HolderSnapshot> former = access.untilAnswered(
                LIMIT,
                locks -> locks.read(semaphore)
                        .filter(seen -> seen.row().permits() != null)
                        .flatMap(seen -> permits.attempt()));
        former.ifPresent(seen -> LockLog.forced(seen.holder(), reason));
        return former;
    }

    /**
     * Changes the limit of a semaphore, and wakes the waiters for permits.
     *
     * @param limit how many permits it will have; 0 or more
     * @return the limit before; empty if there is no such semaphore
     * @throws StoreException if the database failed
     */
    OptionalInt setLimit(String semaphore, int limit, String reason) {
        LimitChange change = new LimitChange(UUID.randomUUID().toString(), semaphore, limit, doneBy, reason);
        int[] sentBefore = new int[1];
        OptionalInt before = access.untilAnswered(LIMIT, locks -> {
            if (permits().isRecorded(change)) {
                return OptionalInt.of(sentBefore[0]);
            }
            Optional<Usage> seen = permits().usage(semaphore);
            if (seen.isEmpty()) {
                return OptionalInt.empty();
            }
            sentBefore[0] = seen.get().limit();
            if (!permits().setLimit(change, seen.get().version())) {
                throw StoreException.overtaken();
            }
            return OptionalInt.of(sentBefore[0]);
        });
        if (before.isPresent()) {
            LockLog.limitChanged(change, before.getAsInt());
            access.waiterNotifier().lockReleased(semaphore);
            access.waiterNotifier().wakeNext(semaphore);
        }
        return before;
    }

    /**
     * Makes the next heartbeat of a node fail, so that the node checks what it holds. From then on, no heartbeat extends the node's
     * lease. But until the first heartbeat after it, a grant lasts for a whole node lease. Call it in a transaction that has locked the
     * row of the hold: a wait for that row must not block the node's heartbeat.
     *
     * @return how long the node may believe that it holds; empty if the node has no row
     */
    private Optional<Duration> alert(String nodeId) {
        LockNodeRepository nodes = access.store().nodes();
        nodes.alert(nodeId);
        return nodes.read(nodeId)
                .map(node -> Collections.max(List.of(nodeLease, node.node().lease(), node.expiresIn())));
    }

    private HolderRows permits() {
        return access.store().permits();
    }

    /** The forced release of one lock, over all attempts. */
    private final class ForcedRelease {

        private final String name;
        private final Predicate<LockInfo> isMeant;
        private final String reason;
        private Optional<LockInfo> sent = Optional.empty();

        /** The shared holders that lose the lock, as the last attempt saw them. */
        private List<LockInfo> sharing = List.of();

        private ForcedRelease(String name, Predicate<LockInfo> isMeant, String reason) {
            this.name = name;
            this.isMeant = isMeant;
            this.reason = reason;
        }

        private Optional<LockInfo> attempt(TransactionalLockRows locks) {
            Optional<LockSnapshot> first = locks.read(name);
            if (sent.filter(info -> locks.wasForced(name, info.fencingToken())).isPresent()) {
                return sent;
            }
            sharing = first.filter(seen -> seen.row().isShared()).isPresent() ? sharing() : List.of();
            Optional<LockInfo> holder = first.flatMap(LockInfo::ofHeld).filter(isMeant);
            holder.ifPresent(info -> force(locks, first.orElseThrow()));
            sent = holder;
            return holder;
        }

        private List<LockInfo> sharing() {
            return permits().holders(name).stream()
                    .flatMap(seen -> LockInfo.ofSharing(seen).stream())
                    .filter(isMeant)
                    .toList();
        }

        private void force(TransactionalLockRows locks, LockSnapshot seen) {
            LockEntity row = seen.row();
            LockEntity takenFromHolder = row.takenFromHolder();
            if (!locks.takeFromHolder(row, takenFromHolder, tolerated(seen.timeUntilOver()))) {
                throw StoreException.overtaken();
            }
            if (row.nodeId() != null) {
                alert(row.nodeId()).ifPresent(believed -> locks.delay(takenFromHolder, tolerated(believed)));
            }
            locks.recordForcedRelease(row, doneBy, reason);
        }

        /**
         * Adds the clock tolerance. After a failover, the clock of the new database may be ahead. The previous holder must still notice
         * its loss in time.
         */
        private Duration tolerated(Duration believed) {
            return believed.plus(clockTolerance);
        }
    }

    /** The forced release of one share, over all attempts: of permits of a semaphore, or of a shared lock. */
    private final class ForcedShare {

        private final String name;
        private final long fencingToken;
        private final String reason;
        private Optional<HolderSnapshot> sent = Optional.empty();

        private ForcedShare(String name, long fencingToken, String reason) {
            this.name = name;
            this.fencingToken = fencingToken;
            this.reason = reason;
        }

        /**
         * Takes the share from its holder. Call it in a transaction, and again if that had no answer.
         *
         * @return the previous holder; empty if the grant no longer stands
         * @throws StoreException if the database failed, or the holder gave the share back meanwhile
         */
        private Optional<HolderSnapshot> attempt() {
            if (sent.filter(holder -> permits().wasForced(holder.grant())).isEmpty()) {
                sent = permits().holder(name, fencingToken).filter(HolderSnapshot::isHeld);
                sent.ifPresent(this::force);
            }
            return sent;
        }

        private void force(HolderSnapshot seen) {
            // Locks the holder's row before that of its node.
            if (!permits().touch(seen.grant())) {
                throw StoreException.overtaken();
            }
            String nodeId = seen.holder().nodeId();
            Duration notices = nodeId == null ? Duration.ZERO : alert(nodeId).orElse(Duration.ZERO);
            if (!permits().takeFromHolder(seen.holder(), notices, doneBy, reason)) {
                throw StoreException.overtaken();
            }
        }
    }
}
