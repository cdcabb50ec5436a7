package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockDialect;
import jakarta.persistence.LockModeType;
import jakarta.persistence.QueryHint;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Lock;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The queries of the rows of the locks. {@link LockRows} describes them. Each query is one statement, in the current transaction.
 *
 * <p>Only a compare-and-set may change a lock. So this interface extends the bare {@link Repository}. An inherited {@code save}
 * would select first, and then write without comparing token and owner. It would also insert a deleted row again.
 */
public interface LockRepository extends Repository<LockEntity, String> {

    /** The part of {@link #read} after its selection. */
    String FROM_LOCK_AND_NODE = """
            from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
            where l.name = :name
            """;

    /** See {@link LockRows#read}. */
    @Query("""
            select new io.github.holdfast.repository.rows.LockSnapshot(l, n, db_clock())
            """ + FROM_LOCK_AND_NODE)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    Optional<LockSnapshot> read(@Param("name") String name);

    /** See {@link LockRows#firstInQueue}. */
    @Query(NextWaiterQuery.FIRST_IN_QUEUE)
    Optional<String> firstInQueue(@Param("name") String name);

    /** See {@link TransactionalLockRows#findForUpdate}. The lock timeout of the persistence unit does not count. */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints({
        @QueryHint(name = "jakarta.persistence.lock.timeout", value = "-1"),
        @QueryHint(name = "org.hibernate.readOnly", value = "true")
    })
    @Query("select l from HoldfastLock l where l.name = :name")
    Optional<LockEntity> findForUpdate(@Param("name") String name);

    /** Does the same as {@link #findForUpdate}, with the lock timeout of the entity manager. */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    @Query("select l from HoldfastLock l where l.name = :name")
    Optional<LockEntity> findForUpdateInTime(@Param("name") String name);

    /** See {@link TransactionalLockRows#findForUpdateSkipLocked}. */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints({
        @QueryHint(name = "jakarta.persistence.lock.timeout", value = "-2"),
        @QueryHint(name = "org.hibernate.readOnly", value = "true")
    })
    @Query("select l from HoldfastLock l where l.name = :name")
    Optional<LockEntity> findForUpdateSkipLocked(@Param("name") String name);

    /**
     * See {@link LockRows#createIfMissing}. If the lock has holders, whose rows have outlived its own, the row shows them. MySQL and
     * MariaDB count an existing row too.
     */
    @Modifying
    @Query("""
            insert into HoldfastLock (name, owner, holdCount, acquiredAt, expiresAt, fencingToken, version)
            values (:name, case when exists (select 1 from HoldfastHolder h where h.name = :name) then '*' end,
                case when exists (select 1 from HoldfastHolder h where h.name = :name) then -1 else 0 end,
                case when exists (select 1 from HoldfastHolder h where h.name = :name) then db_clock() end,
                case when not exists (select 1 from HoldfastHolder h where h.name = :name) then db_clock() end,
                db_epoch(), db_epoch())
            on conflict do nothing
            """)
    int createIfMissing(@Param("name") String name);

    /** Does the same as {@link #createIfMissing}, if the caller has asked whether there are {@link #countHolders holders}. */
    @Modifying
    @Query("""
            insert into HoldfastLock (name, owner, holdCount, acquiredAt, expiresAt, fencingToken, version)
            values (:name, case when :holdCount = -1 then '*' end, :holdCount,
                case when :holdCount = -1 then db_clock() end, case when :holdCount = 0 then db_clock() end,
                db_epoch(), db_epoch())
            on conflict do nothing
            """)
    int createAs(@Param("name") String name, @Param("holdCount") int holdCount);

    /** Counts the holders of permits or shares, alive and dead. */
    @Query("select count(*) from HoldfastHolder h where h.name = :name")
    Long countHolders(@Param("name") String name);

    /** See {@link LockRows#grant}. */
    @Modifying
    @Query(GrantQuery.GRANT + GrantQuery.IF_NODE_LIVES)
    int grant(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros);

    /** Does the same as {@link #grant}, without a check of the node. The node's row must be known to be in this database. */
    @Modifying
    @Query(GrantQuery.GRANT)
    int grantWhereNodeIs(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros);

    /**
     * Does the same as {@link #grant}, without a check of the node, if it writes to this table. The node's row must be known to be
     * beside the table. For PostgreSQL.
     *
     * @param tableId see {@link LockDialect#tableIdColumn}
     */
    @Modifying
    @Query(GrantQuery.GRANT + " and db_table_id() = :tableId")
    int grantInTable(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros,
            @Param("tableId") long tableId);

    /** Sets the times of {@link #grant} again. Now the transaction has the row locked, so no wait falsifies them. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.acquiredAt = db_clock(), l.expiresAt = db_clock_plus(:leaseMicros),
                l.availableAt = db_clock_plus(:minimumHoldMicros)
            where l.name = :name and l.version = :version
            """)
    int grantFromNow(
            @Param("name") String name,
            @Param("version") long version,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros);

    /** See {@link LockRows#extend}. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.holdCount = :holdCount,
                l.expiresAt = case when l.expiresAt > db_clock_plus(:leaseMicros) then l.expiresAt
                    else db_clock_plus(:leaseMicros) end,
                l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner and l.expiresAt > db_clock()
            """)
    int extend(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("holdCount") int holdCount,
            @Param("leaseMicros") @Nullable Long leaseMicros);

    /** Sets the time of {@link #extend} again. Now the transaction has the row locked, so no wait falsifies it. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.expiresAt = case when l.expiresAt > db_clock_plus(:leaseMicros) then l.expiresAt
                else db_clock_plus(:leaseMicros) end
            where l.name = :name and l.version = :version
            """)
    int extendFromNow(
            @Param("name") String name,
            @Param("version") long version,
            @Param("leaseMicros") @Nullable Long leaseMicros);

    /** See {@link LockRows#release}; releases the last hold. */
    @Modifying
    @Query(ReleaseQuery.UP_TO_HOLD_COUNT + "0" + ReleaseQuery.AFTER_HOLD_COUNT)
    int release(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner);

    /** See {@link LockRows#release} and {@link LockRows#recount}; the lock stays held. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.holdCount = :holdCount, l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int recount(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("holdCount") int holdCount);

    /** See {@link LockRows#supersede}. */
    @Modifying
    @Query("update HoldfastLock l set l.version = :version + 1 where l.name = :name and l.version <= :version")
    int supersede(@Param("name") String name, @Param("version") long version);

    /** See {@link TransactionalLockRows#takeFromHolder}. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null, l.holdCount = 0, l.fencingToken = :token,
                l.expiresAt = db_clock(),
                l.availableAt = case when l.availableAt > db_clock_plus(:delayMicros) then l.availableAt
                    else db_clock_plus(:delayMicros) end,
                l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int takeFromHolder(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("token") long token,
            @Param("delayMicros") long delayMicros);

    /** See {@link TransactionalLockRows#delay}. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.availableAt = case when l.availableAt > db_clock_plus(:delayMicros) then l.availableAt
                    else db_clock_plus(:delayMicros) end
            where l.name = :name and l.version = :version
            """)
    int delay(@Param("name") String name, @Param("version") long version, @Param("delayMicros") long delayMicros);
}
