package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.rows.HolderRows.Semaphore;
import io.github.holdfast.repository.rows.HolderRows.Usage;
import jakarta.persistence.QueryHint;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The queries of the rows of semaphores and their holders. {@link HolderRows} describes them. Each query is one statement, in the
 * current transaction.
 */
public interface PermitRepository extends Repository<LockEntity, String> {

    /** Selects holders with their nodes and the database's clock. */
    String HOLDERS = """
            select new io.github.holdfast.repository.rows.HolderRows$HolderSnapshot(h, n, db_clock())
            from HoldfastHolder h left join HoldfastNode n on n.id = h.nodeId
            """;

    /** The condition that the holder {@code h} with the node {@code n} has what was granted: it is not dead, and lost nothing by force. */
    String HAS_GRANT = " h.owner <> '*forced' and (n.ended = false or h.nodeId is null and h.expiresAt > db_clock()) ";

    /** The condition that the holder's node lives, if it has one. It needs the cast of {@link GrantQuery#IF_NODE_LIVES}. */
    String IF_NODE_LIVES =
            " and (cast(:nodeId as string) is null or (select n.ended from HoldfastNode n where n.id = :nodeId) = false)";

    /** See {@link HolderRows#createIfMissing}. The owner says that the holders have rows of their own. */
    @Modifying
    @Query("""
            insert into HoldfastLock (name, owner, holdCount, fencingToken, permits, version)
            values (:name, '*', -1, db_epoch(), :limit, db_epoch())
            on conflict do nothing
            """)
    int createIfMissing(@Param("name") String name, @Param("limit") int limit);

    /** See {@link HolderRows#usage}. */
    @Query("""
            select new io.github.holdfast.repository.rows.HolderRows$Usage(l.version, l.permits,
                (select coalesce(sum(h.permits), 0L) from HoldfastHolder h where h.name = :name),
                (select min(h.expiresAt) from HoldfastHolder h where h.name = :name), db_clock())
            from HoldfastLock l where l.name = :name and l.permits is not null
            """)
    Optional<Usage> usage(@Param("name") String name);

    /** See {@link HolderRows#holders(String)}. */
    @Query(HOLDERS + " where h.name = :name order by h.fencingToken")
    List<HolderSnapshot> holders(@Param("name") String name);

    /** See {@link HolderRows#sharing}. One row without a holder if no owner shares the lock. */
    @Query("""
            select new io.github.holdfast.repository.rows.HolderRows$HolderSnapshot(h, n, db_clock())
            from HoldfastLock l left join HoldfastHolder h on h.name = l.name left join HoldfastNode n on n.id = h.nodeId
            where l.name = :name and l.version = :version
            """)
    List<HolderSnapshot> sharing(@Param("name") String name, @Param("version") long version);

    /** See {@link HolderRows#holder(String, String)}. */
    @Query(HOLDERS + " where h.name = :name and h.owner = :owner")
    Optional<HolderSnapshot> holder(@Param("name") String name, @Param("owner") String owner);

    /** See {@link HolderRows#holder(String, long)}. */
    @Query(HOLDERS + " where h.name = :name and h.fencingToken = :token")
    Optional<HolderSnapshot> holder(@Param("name") String name, @Param("token") long token);

    /** See {@link HolderRows#living}. */
    @Query(HOLDERS
            + " where h.name in (:names) and"
            + HAS_GRANT
            + "order by h.name, h.fencingToken fetch first :limit rows only")
    List<HolderSnapshot> living(@Param("names") Collection<String> names, @Param("limit") int limit);

    /** See {@link HolderRows#heldThrough}. */
    @Query("""
            select h from HoldfastHolder h
            where h.nodeId = :nodeId and (h.name > coalesce(:after, ' ') or h.name = :after and h.fencingToken > :afterToken)
            order by h.name, h.fencingToken fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockHolder> heldThrough(
            @Param("nodeId") String nodeId,
            @Param("after") String after,
            @Param("afterToken") long afterToken,
            @Param("limit") int limit);

    /** See {@link HolderRows#dead}. */
    @Query("""
            select h from HoldfastHolder h left join HoldfastNode n on n.id = h.nodeId
            where (h.name > coalesce(:after, ' ') or h.name = :after and h.fencingToken > :afterToken)
                and (h.nodeId is null and h.expiresAt <= db_clock_plus(:sinceMicros)
                    or h.nodeId is not null and n.id is null
                    or n.ended = true and (n.waitsUntil = n.startedAt or n.expiresAt <= db_clock_plus(:sinceMicros)))
            order by h.name, h.fencingToken fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockHolder> dead(
            @Param("sinceMicros") long sinceMicros,
            @Param("after") String after,
            @Param("afterToken") long afterToken,
            @Param("limit") int limit);

    /**
     * Takes the next token, and locks the semaphore's row. The number of permits is compared afterwards, by {@link #tokenIfLeft}:
     * a statement that waits for the row would compare with the sum from before the wait.
     */
    @Modifying
    @Query("""
            update HoldfastLock l set l.fencingToken = l.fencingToken + 1, l.version = l.version + 1
            where l.name = :name and l.permits is not null and l.version >= :version and l.version < :end
            """)
    int takeToken(@Param("name") String name, @Param("version") long version, @Param("end") long end);

    /**
     * Returns the token that was just taken, if enough permits are left, and the node lives. No {@code insert ... select} compares
     * them, because at REPEATABLE READ it would lock the rows of the node and of other holders, and the gaps between them
     * (https://dev.mysql.com/doc/refman/8.0/en/innodb-locks-set.html).
     */
    @Query("""
            select l.fencingToken from HoldfastLock l
            where l.name = :name
                and l.permits >= :permits
                    + (select coalesce(sum(h.permits), 0L) from HoldfastHolder h where h.name = :name)
            """ + IF_NODE_LIVES)
    Optional<Long> tokenIfLeft(
            @Param("name") String name, @Param("permits") long permits, @Param("nodeId") @Nullable String nodeId);

    /**
     * Takes the next token for a shared holder, and locks the lock's row. MySQL and MariaDB assign in the order of the text, and a later
     * assignment sees an earlier one, so the first one must read the previous hold count. The lock's owner is a text that no other grant
     * has: after a failover, another share may have the same version and token again, and a later write must not take it for this one.
     */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.wantedUntil = case when l.holdCount = -1 then l.wantedUntil end,
                l.owner = concat('*', :owner), l.nodeId = null, l.holder = null, l.holdCount = -1, l.fencingToken = l.fencingToken + 1,
                l.acquiredAt = db_clock(), l.expiresAt = null, l.version = l.version + 1
            where l.name = :name and l.permits is null and l.version >= :version and l.version < :end
                and (l.owner is null or l.holdCount = -1)
                and (l.availableAt is null or l.availableAt <= db_clock())
                and (l.holdCount <> -1 or l.wantedUntil is null or l.wantedUntil <= db_clock())
            """)
    int share(
            @Param("name") String name,
            @Param("owner") String owner,
            @Param("version") long version,
            @Param("end") long end);

    /** See {@link HolderRows#downgrade}. The owner of the row is what {@link #share} writes. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = concat('*', :owner), l.nodeId = null, l.holder = null, l.holdCount = -1, l.fencingToken = :token,
                l.acquiredAt = db_clock(), l.expiresAt = null, l.wantedUntil = null, l.version = l.version + 1
            where l.name = :name and l.version = :version and l.fencingToken = :expectedToken and l.owner = :expectedOwner
                and (l.nodeId is not null or l.expiresAt > db_clock())
            """ + GrantQuery.IF_NODE_LIVES)
    int downgrade(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") String expectedOwner,
            @Param("owner") String owner,
            @Param("token") long token,
            @Param("nodeId") @Nullable String nodeId);

    /** Returns the token that was just taken, if the node lives. */
    @Query("select l.fencingToken from HoldfastLock l where l.name = :name" + IF_NODE_LIVES)
    Optional<Long> tokenIfAlive(@Param("name") String name, @Param("nodeId") @Nullable String nodeId);

    /** See {@link HolderRows#reserve} and {@link HolderRows#cancelReservation}. */
    @Modifying
    @Query("update HoldfastLock l set l.wantedUntil = db_clock_plus(:micros) where l.name = :name and l.holdCount = -1")
    int reserve(@Param("name") String name, @Param("micros") @Nullable Long micros);

    /** Grants with the token that was just taken. */
    @Modifying
    @Query("""
            insert into HoldfastHolder (name, fencingToken, owner, nodeId, permits, acquiredAt, expiresAt, holder)
            values (:name, :token, :owner, :nodeId, :permits, db_clock(), db_clock_plus(:leaseMicros), :holder)
            """)
    int addHolder(
            @Param("name") String name,
            @Param("token") long token,
            @Param("owner") String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("permits") int permits,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("holder") @Nullable String holder);

    /** See {@link HolderRows#supersede}. */
    @Modifying
    @Query("update HoldfastLock l set l.version = :end where l.name = :name and l.version < :end")
    int supersede(@Param("name") String name, @Param("end") long end);

    /** See {@link HolderRows#release}. */
    @Modifying
    @Query("delete from HoldfastHolder h where h.name = :name and h.fencingToken = :token and h.owner = :owner")
    int release(@Param("name") String name, @Param("token") long token, @Param("owner") String owner);

    /**
     * See {@link HolderRows#extend}. It changes a value in any case: with {@code useAffectedRows}, MySQL counts only changed rows.
     */
    @Modifying
    @Query("""
            update HoldfastHolder h
            set h.expiresAt = case when h.expiresAt > db_clock_plus(:leaseMicros) then h.expiresAt
                    else db_clock_plus(:leaseMicros) end,
                h.guardCount = h.guardCount + 1
            where h.name = :name and h.fencingToken = :token and h.owner = :owner and h.expiresAt > db_clock()
            """)
    int extend(
            @Param("name") String name,
            @Param("token") long token,
            @Param("owner") String owner,
            @Param("leaseMicros") long leaseMicros);

    /** See {@link HolderRows#touch}. */
    @Modifying
    @Query("""
            update HoldfastHolder h set h.guardCount = h.guardCount + 1
            where h.name = :name and h.fencingToken = :token and h.owner = :owner
            """)
    int touch(@Param("name") String name, @Param("token") long token, @Param("owner") String owner);

    /** See {@link HolderRows#removeDead}. A node that was ended stays ended. */
    @Modifying
    @Query("""
            delete from HoldfastHolder h
            where h.name = :name and h.fencingToken = :token and h.owner = :owner
                and (h.nodeId is not null or h.expiresAt <= db_clock_plus(:sinceMicros))
            """)
    int removeDead(
            @Param("name") String name,
            @Param("token") long token,
            @Param("owner") String owner,
            @Param("sinceMicros") long sinceMicros);

    /** See {@link HolderRows#page}. */
    @Query("""
            select new io.github.holdfast.repository.rows.HolderRows$Semaphore(l.name, l.permits,
                (select coalesce(sum(h.permits), 0L) from HoldfastHolder h where h.name = l.name))
            from HoldfastLock l where l.name > coalesce(:after, ' ') and l.permits is not null
            order by l.name fetch first :limit rows only
            """)
    List<Semaphore> page(@Param("after") String after, @Param("limit") int limit);

    /** See {@link HolderRows#holders(Collection, int)}. */
    @Query(HOLDERS + """
            join HoldfastLock l on l.name = h.name
            where h.name in (:names) and l.permits is not null
            order by h.name, h.fencingToken fetch first :limit rows only
            """)
    List<HolderSnapshot> holdersOfEach(@Param("names") Collection<String> names, @Param("limit") int limit);

    /** See {@link HolderRows#takeFromHolder}. */
    @Modifying
    @Query("""
            update HoldfastHolder h
            set h.owner = '*forced', h.nodeId = null, h.expiresAt = coalesce(h.expiresAt, db_clock_plus(:noticesMicros))
            where h.name = :name and h.fencingToken = :token and h.owner = :owner
            """)
    int takeFromHolder(
            @Param("name") String name,
            @Param("token") long token,
            @Param("owner") String owner,
            @Param("noticesMicros") long noticesMicros);

    /** Returns the token of the last grant. */
    @Query("select l.fencingToken from HoldfastLock l where l.name = :name")
    long lastToken(@Param("name") String name);

    /** See {@link HolderRows#setLimit}. */
    @Modifying
    @Query("""
            update HoldfastLock l set l.permits = :limit, l.version = l.version + 1
            where l.name = :name and l.permits is not null and l.version = :version
            """)
    int setLimit(@Param("name") String name, @Param("limit") int limit, @Param("version") long version);

    /** See {@code JpaLockStore.hasHoldersAndWaiters}. */
    @Query("select h, w from HoldfastHolder h, HoldfastWaiter w where h.name = :name and w.name = :name")
    List<Object[]> holdersAndWaiters(@Param("name") String name);
}
