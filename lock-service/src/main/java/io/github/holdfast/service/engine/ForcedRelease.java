package io.github.holdfast.service.engine;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.repository.LockSnapshot;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.TransactionalLockRows;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Releases a lock by force, and repeats the attempt until the database answers. If an unanswered attempt took effect, its result
 * counts. The holders of a shared lock lose it one after the other, each in a transaction of its own: the wait for one that protects its
 * hold must not block the commits of the others.
 */
final class ForcedRelease {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final HoldContext context;
    private final LockAccess access;
    private final HolderAlert holderAlert;
    private final Duration clockTolerance;
    private final String releasedBy;
    private final String name;
    private final Predicate<LockInfo> isMeant;
    private final String reason;
    private Optional<LockInfo> sent = Optional.empty();

    /** The shared holders that lose the lock, as the last attempt saw them. */
    private List<LockInfo> sharing = List.of();

    /**
     * @param releasedBy a readable description of who releases the lock
     * @param isMeant selects the holders that lose the lock
     */
    ForcedRelease(HoldContext context, String releasedBy, String name, Predicate<LockInfo> isMeant, String reason) {
        this.context = context;
        this.access = context.access();
        this.holderAlert = new HolderAlert(context);
        this.clockTolerance = context.policy().clockTolerance();
        this.releasedBy = releasedBy;
        this.name = name;
        this.isMeant = isMeant;
        this.reason = reason;
    }

    /**
     * Releases the lock. Not interruptible.
     *
     * @return the former holder, or the first of those that shared the lock; empty if no such holder has the lock
     * @throws StoreException if the database failed
     */
    Optional<LockInfo> release() {
        Optional<LockInfo> holder = access.untilAnswered(LIMIT, this::attempt);
        holder.ifPresent(info -> LockLog.forced(info, reason));
        return sharing.isEmpty() ? holder : releaseShares();
    }

    private Optional<LockInfo> releaseShares() {
        List<LockInfo> former = new ArrayList<>();
        for (LockInfo share : sharing) {
            ForcedShare forced = new ForcedShare(context, releasedBy, name, share.fencingToken(), reason);
            if (access.untilAnswered(LIMIT, locks -> forced.attempt()).isPresent()) {
                LockLog.forced(share, reason);
                former.add(share);
            }
        }
        return former.stream().findFirst();
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
        return access.store().permits().holders(name).stream()
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
            holderAlert.alert(row.nodeId()).ifPresent(believed -> locks.delay(takenFromHolder, tolerated(believed)));
        }
        locks.recordForcedRelease(row, releasedBy, reason);
    }

    /**
     * Adds the clock tolerance. After a failover, the clock of the new database may be ahead. The former holder must still notice
     * its loss in time.
     */
    private Duration tolerated(Duration believed) {
        return believed.plus(clockTolerance);
    }
}
