package io.github.holdfast.service;

import io.github.holdfast.entity.LockAudit;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A recorded act of an operator: a forced release, or a new limit of a semaphore.
 *
 * @param name the name of the lock or the semaphore
 * @param action {@link LockAudit#FORCED_RELEASE} or {@link LockAudit#LIMIT_CHANGE}
 * @param holder a readable description of the holder at that time; null if there was none, or it is unknown
 * @param fencingToken the token of the grant that ended; for a new limit, that of the semaphore's last grant
 * @param doneAt when, by the database's clock
 * @param doneBy the process that did it
 * @param reason the reason; with the user's name in front if it came from the console
 */
public record AuditInfo(
        String name,
        String action,
        @Nullable String holder,
        long fencingToken,
        Instant doneAt,
        String doneBy,
        String reason) {

    static AuditInfo of(LockAudit row) {
        return new AuditInfo(
                row.lockName(),
                row.action(),
                row.holder(),
                row.fencingToken(),
                row.doneAt(),
                row.doneBy(),
                row.reason());
    }
}
