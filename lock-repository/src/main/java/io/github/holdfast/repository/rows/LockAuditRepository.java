package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockAudit;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/** The queries of the audit log. Each query is one statement, in the current transaction. */
public interface LockAuditRepository extends Repository<LockAudit, String> {

    /** See {@link TransactionalLockRows#wasForced}. */
    @Query("""
            select count(a) > 0 from HoldfastAudit a
            where a.lockName = :lockName and a.fencingToken = :token and a.action = 'FORCED_RELEASE'
            """)
    boolean wasForced(@Param("lockName") String lockName, @Param("token") long token);

    /** Whether there is a record with this id. */
    boolean existsById(String id);

    /** See {@link TransactionalLockRows#recordForcedRelease} and {@link HolderRows}. */
    @Modifying
    @Query("""
            insert into HoldfastAudit
                (id, action, lockName, owner, nodeId, holder, fencingToken, permits, doneAt, doneBy, reason)
            values (:id, :action, :lockName, :owner, :nodeId, :holder, :token, :permits, db_clock(), :doneBy, :reason)
            """)
    int insert(
            @Param("id") String id,
            @Param("action") String action,
            @Param("lockName") String lockName,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("permits") @Nullable Integer permits,
            @Param("doneBy") String doneBy,
            @Param("reason") String reason);
}
