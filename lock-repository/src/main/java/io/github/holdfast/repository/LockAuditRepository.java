package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * What was done to locks over their holders' heads. Every method is one statement and needs a transaction on the primary;
 * {@link LockStore} opens one.
 */
public interface LockAuditRepository extends Repository<LockAudit, String> {

    /**
     * Records a forced release.
     *
     * @param before the lock that was taken away, as it was held
     * @param doneBy who did it, for people
     * @param reason why
     */
    default void recordForcedRelease(LockEntity before, String doneBy, String reason) {
        insert(
                UUID.randomUUID().toString(),
                LockAudit.FORCED_RELEASE,
                before.name(),
                before.owner(),
                before.nodeId(),
                before.holder(),
                before.fencingToken(),
                doneBy,
                reason);
    }

    /** Tells whether a grant was ended by a forced release. */
    @Query("""
            select count(a) > 0 from HoldfastAudit a
            where a.lockName = :lockName and a.fencingToken = :token and a.action = 'FORCED_RELEASE'
            """)
    boolean wasForced(@Param("lockName") String lockName, @Param("token") long token);

    /** See {@link #recordForcedRelease}. */
    @Modifying
    @Query("""
            insert into HoldfastAudit (id, action, lockName, owner, nodeId, holder, fencingToken, doneAt, doneBy, reason)
            values (:id, :action, :lockName, :owner, :nodeId, :holder, :token, db_clock(), :doneBy, :reason)
            """)
    int insert(
            @Param("id") String id,
            @Param("action") String action,
            @Param("lockName") String lockName,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("doneBy") String doneBy,
            @Param("reason") String reason);
}
