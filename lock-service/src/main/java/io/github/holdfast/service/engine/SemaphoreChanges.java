package io.github.holdfast.service.engine;

import io.github.holdfast.repository.HolderRows;
import io.github.holdfast.repository.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.HolderRows.LimitChange;
import io.github.holdfast.repository.HolderRows.Usage;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;

/**
 * What operators change in semaphores. Each change is repeated until the database answers. If an unanswered attempt took effect, its
 * result counts. Thread-safe.
 */
final class SemaphoreChanges {

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final HoldContext context;
    private final LockAccess access;

    SemaphoreChanges(HoldContext context) {
        this.context = context;
        this.access = context.access();
    }

    /**
     * Changes the limit of a semaphore, and wakes those who wait for permits. Not interruptible.
     *
     * @param limit how many permits it will have; 0 or more
     * @param reason the reason for the record
     * @return the limit before; empty if there is no such semaphore
     * @throws StoreException if the database failed
     */
    OptionalInt setLimit(String name, int limit, String reason) {
        LimitChange change = new LimitChange(
                UUID.randomUUID().toString(), name, limit, context.identity().current(), reason);
        int[] sentBefore = new int[1];
        OptionalInt before = access.untilAnswered(LIMIT, locks -> {
            if (permits().isRecorded(change)) {
                return OptionalInt.of(sentBefore[0]);
            }
            Optional<Usage> seen = permits().usage(name);
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
            access.waiterNotifier().lockReleased(name);
            access.waiterNotifier().wakeNext(name);
        }
        return before;
    }

    /**
     * Takes the permits of one grant from their holder. Not interruptible.
     *
     * @param reason the reason for the record
     * @return the former holder; empty if the grant no longer stands, or the name is not that of a semaphore
     * @throws StoreException if the database failed
     */
    Optional<HolderSnapshot> forceRelease(String name, long fencingToken, String reason) {
        ForcedShare share = new ForcedShare(context, context.identity().current(), name, fencingToken, reason);
        Optional<HolderSnapshot> former = access.untilAnswered(
                LIMIT,
                locks -> locks.read(name)
                        .filter(seen -> seen.row().permits() != null)
                        .flatMap(seen -> share.attempt()));
        former.ifPresent(seen -> LockLog.forced(seen.holder(), reason));
        return former;
    }

    private HolderRows permits() {
        return access.store().permits();
    }
}
