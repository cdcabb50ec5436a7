package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.LockModeType;
import jakarta.persistence.QueryHint;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.List;
import org.springframework.data.jpa.repository.Lock;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The queries of pages of the tables. {@link LockPages} describes them. Each query is one statement, in the current transaction.
 *
 * <p>The columns in the conditions of these queries have no index on purpose. Every grant and release would have to write such an
 * index, and on MySQL it makes heartbeats deadlock with clean-up. Each page starts at the key at which the last page ended, and
 * locks no row. Clean-up then locks the rows to change by their key, row by row. It skips rows that another transaction has
 * locked.
 *
 * <p>These queries compare with the time of the transaction's begin, because of an error of H2 (see {@link SqlErrors}). The error
 * occurs again and again when a query reads the clock for thousands of rows while other sessions are at work.
 */
interface LockPageRepository extends Repository<LockEntity, String>, LockPages {

    @Override
    default Instant clock() {
        return Instant.EPOCH.plus(clockMicros(), ChronoUnit.MICROS);
    }

    /** See {@link #clock}. */
    @Query("select db_clock_micros()")
    long clockMicros();

    /** See {@link JpaLockStore#hasHoldersAndWaiters}. */
    @Query("select h, w from HoldfastHolder h, HoldfastWaiter w where h.name = :name and w.name = :name")
    List<Object[]> holdersAndWaiters(@Param("name") String name);

    @Override
    @Query("""
            select new io.github.holdfast.repository.NodeRows$Queued(w.name, w.since, w.mode, n, l, m, db_clock())
            from HoldfastWaiter w join HoldfastNode n on n.id = w.nodeId
                left join HoldfastLock l on l.name = w.name left join HoldfastNode m on m.id = l.nodeId
            where (coalesce(:name, ' ') in ('', ' ') or w.name = :name) and n.ended = false and n.waitsUntil > db_clock()
            order by w.name, w.since, w.id fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<NodeRows.Queued> queued(@Param("name") String name, @Param("limit") int limit);

    @Override
    @Query(
            "select a from HoldfastAudit a where a.lockName = :name order by a.doneAt desc, a.id fetch first :limit rows only")
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockAudit> acts(@Param("name") String name, @Param("limit") int limit);

    @Override
    @Query("""
            select new io.github.holdfast.repository.LockSnapshot(l, m, db_clock())
            from HoldfastLock l join HoldfastNode m on m.id = l.nodeId
            where l.name > coalesce(:after, ' ') and l.owner is not null and m.ended = false and l.holder like :holder
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockSnapshot> heldThroughNodes(
            @Param("holder") String holder, @Param("after") String after, @Param("limit") int limit);

    @Override
    @Query("""
            select l from HoldfastLock l where l.name > coalesce(:after, ' ') and l.nodeId = :nodeId
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> heldThrough(
            @Param("nodeId") String nodeId, @Param("after") String after, @Param("limit") int limit);

    @Override
    @Query("""
            select n.id from HoldfastNode n
            where n.id > coalesce(:after, ' ') and n.ended = false and n.expiresAt <= db_begin_plus(:sinceMicros)
            order by n.id fetch first :limit rows only
            """)
    List<String> overdueNodes(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    @Override
    @Query("""
            select l from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
            where l.name > coalesce(:after, ' ') and l.nodeId is not null
                and (n.id is null and (l.expiresAt is null or l.expiresAt <= db_begin_plus(:sinceMicros))
                    or n.ended = true and (n.waitsUntil = n.startedAt or n.expiresAt <= db_begin_plus(:sinceMicros)))
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> orphans(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    @Override
    @Query("""
            select l from HoldfastLock l
            where l.name > coalesce(:after, ' ') and l.nodeId is null
                and (l.expiresAt < db_begin_plus(:sinceMicros)
                    or l.holdCount = -1 and l.permits is null and l.acquiredAt < db_begin_plus(:sinceMicros)
                        and not exists (select 1 from HoldfastHolder h where h.name = l.name))
                and (l.availableAt is null or l.availableAt < db_begin_plus(:sinceMicros))
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> idle(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    @Override
    @Query("""
            select n.id from HoldfastNode n
            where n.id > coalesce(:after, ' ') and n.ended = true and n.expiresAt < db_begin_plus(:sinceMicros)
            order by n.id fetch first :limit rows only
            """)
    List<String> idleNodes(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    @Override
    @Query("""
            select new io.github.holdfast.repository.NodeRows$Waiting(w.name, n, db_clock())
            from HoldfastWaiter w join HoldfastNode n on n.id = w.nodeId
            where w.name in (:names) and n.ended = false and n.waitsUntil > db_clock()
            order by w.name, w.since, w.id
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<NodeRows.Waiting> waiting(@Param("names") Collection<String> names);

    @Override
    @Query("select distinct l.nodeId from HoldfastLock l where l.nodeId in (:ids)")
    List<String> named(@Param("ids") List<String> ids);

    @Override
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "-2"))
    @Query("select l from HoldfastLock l where l.name in (:names)")
    List<LockEntity> lockUnlockedRows(@Param("names") List<String> names);

    @Override
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null, l.holdCount = 0, l.fencingToken = l.fencingToken + 1,
                l.expiresAt = db_clock(),
                l.availableAt = case when l.availableAt > db_clock_plus(:delayMicros) then l.availableAt
                    else db_clock_plus(:delayMicros) end,
                l.version = l.version + 1
            where l.name in (:names)
            """)
    int takeFromHolder(@Param("names") List<String> names, @Param("delayMicros") long delayMicros);

    @Override
    @Modifying
    @Query("delete from HoldfastLock l where l.name in (:names)")
    int purge(@Param("names") List<String> names);

    @Override
    @Modifying
    @Query("delete from HoldfastNode n where n.id in (:ids) and n.ended = true")
    int purgeNodes(@Param("ids") List<String> ids);

    @Override
    @Modifying
    @Query("""
            delete from HoldfastWaiter w
            where not exists (select 1 from HoldfastNode n where n.id = w.nodeId and n.ended = false)
            """)
    int purgeWaiters();
}
