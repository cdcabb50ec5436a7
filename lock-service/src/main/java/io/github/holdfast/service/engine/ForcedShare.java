package io.github.holdfast.service.engine;

import io.github.holdfast.repository.HolderRows;
import io.github.holdfast.repository.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;

/**
 * The forced release of one share: of permits of a semaphore, or of a shared lock. If an unanswered attempt took effect, its result
 * counts. Not thread-safe.
 */
final class ForcedShare {

    private final LockAccess access;
    private final HolderAlert holderAlert;
    private final String releasedBy;
    private final String name;
    private final long fencingToken;
    private final String reason;
    private Optional<HolderSnapshot> sent = Optional.empty();

    /**
     * @param releasedBy a readable description of who releases the share
     * @param fencingToken the token of the share
     */
    ForcedShare(HoldContext context, String releasedBy, String name, long fencingToken, String reason) {
        this.access = context.access();
        this.holderAlert = new HolderAlert(context);
        this.releasedBy = releasedBy;
        this.name = name;
        this.fencingToken = fencingToken;
        this.reason = reason;
    }

    /**
     * Takes the share from its holder. Call it in a transaction, and again if that had no answer.
     *
     * @return the former holder; empty if the grant no longer stands
     * @throws StoreException if the database failed, or the holder gave the share back meanwhile
     */
    Optional<HolderSnapshot> attempt() {
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
        Duration notices =
                nodeId == null ? Duration.ZERO : holderAlert.alert(nodeId).orElse(Duration.ZERO);
        if (!permits().takeFromHolder(seen.holder(), notices, releasedBy, reason)) {
            throw StoreException.overtaken();
        }
    }

    private HolderRows permits() {
        return access.store().permits();
    }
}
