package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.repository.LockTables.TransactionalLockRows;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/** The queries of the audit log of forced releases. Each query is one statement, in the current transaction. */
interface LockAuditRepository extends Repository<LockAudit, String> {

    /** See {@link TransactionalLockRows#wasForced}. */
    @Query("""
            select count(a) > 0 from HoldfastAudit a
            where a.lockName = :lockName and a.fencingToken = :token and a.action = 'FORCED_RELEASE'
            """)
    boolean wasForced(@Param("lockName") String lockName, @Param("token") long token);

    /** See {@link TransactionalLockRows#recordForcedRelease}. */
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
