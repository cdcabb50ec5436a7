package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.SqlErrors;
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
 * Reads and cleans up the tables in pages, in the order of the key, for inspection and housekeeping.
 *
 * <p>Housekeeping's queries compare with a time between the transaction's begin and now. A row may look younger than it
 * is, never older.
 *
 * <p>Every method is one statement. Call it in a transaction on the primary; {@code LockStore.inTransaction} opens one.
 *
 * <p>The columns in the conditions of these queries have no index on purpose. Every grant and release would have to write such an
 * index, and on MySQL it makes heartbeats deadlock with clean-up. Each page starts at the key at which the last page ended, and
 * locks no row. Clean-up then locks the rows to change by their key, row by row. It skips rows that another transaction has
 * locked.
 *
 * <p>These queries compare with the time of the transaction's begin, because of an error of H2 (see {@link SqlErrors}). The error
 * occurs again and again when a query reads the clock for thousands of rows while other sessions are at work.
 */
public interface LockPageRepository extends Repository<LockEntity, String> {

    /** Reads the database's clock. */
    default Instant clock() {
        return Instant.EPOCH.plus(clockMicros(), ChronoUnit.MICROS);
    }

    /** See {@link #clock}. */
    @Query("select db_clock_micros()")
    long clockMicros();

    /** Reads the waiters of living nodes for a lock, or for all if the name is empty, in the order of the names and of their queues. */
    @Query("""
            select new io.github.holdfast.repository.rows.LockNodeRepository$Queued(w.name, w.since, w.mode, n, l, m, db_clock())
            from HoldfastWaiter w join HoldfastNode n on n.id = w.nodeId
                left join HoldfastLock l on l.name = w.name left join HoldfastNode m on m.id = l.nodeId
            where (coalesce(:name, ' ') in ('', ' ') or w.name = :name) and n.ended = false and n.waitsUntil > db_clock()
            order by w.name, w.since, w.id fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockNodeRepository.Queued> queued(@Param("name") String name, @Param("limit") int limit);

    /** Reads the acts of operators on a lock or a semaphore, the latest first. The table has no index for it. */
    @Query(
            "select a from HoldfastAudit a where a.lockName = :name order by a.doneAt desc, a.id fetch first :limit rows only")
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockAudit> acts(@Param("name") String name, @Param("limit") int limit);

    /**
     * Reads the locks that are held through a node that has not been ended, and whose holder is described like this.
     *
     * @param holder a pattern of SQL
     */
    @Query("""
            select new io.github.holdfast.repository.rows.LockSnapshot(l, m, db_clock())
            from HoldfastLock l join HoldfastNode m on m.id = l.nodeId
            where l.name > coalesce(:after, ' ') and l.owner is not null and m.ended = false and l.holder like :holder escape '!'
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockSnapshot> heldThroughNodes(
            @Param("holder") String holder, @Param("after") String after, @Param("limit") int limit);

    /** Reads the locks that are held through a node, alive or dead. */
    @Query("""
            select l from HoldfastLock l where l.name > coalesce(:after, ' ') and l.nodeId = :nodeId
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> heldThrough(
            @Param("nodeId") String nodeId, @Param("after") String after, @Param("limit") int limit);

    /**
     * Finds the nodes with an expired lease that no service has ended yet.
     *
     * @param sinceMicros since when, from the begin of the transaction: zero or negative
     */
    @Query("""
            select n.id from HoldfastNode n
            where n.id > coalesce(:after, ' ') and n.ended = false and n.expiresAt <= db_begin_plus(:sinceMicros)
            order by n.id fetch first :limit rows only
            """)
    List<String> overdueNodes(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    /**
     * Reads the locks whose node has left them, or is absent and their own lease has expired.
     *
     * @param sinceMicros since when, from the begin of the transaction: zero or negative
     */
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

    /**
     * Reads the locks that have been free and available for some time.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     */
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

    /**
     * Finds the ended nodes whose lease has been over for some time.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     */
    @Query("""
            select n.id from HoldfastNode n
            where n.id > coalesce(:after, ' ') and n.ended = true and n.expiresAt < db_begin_plus(:sinceMicros)
            order by n.id fetch first :limit rows only
            """)
    List<String> idleNodes(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    /**
     * Reads which nodes wait for these locks: one result for each waiter of a node that is marked as waiting.
     *
     * @return in the order of the names, and of each queue
     */
    @Query("""
            select new io.github.holdfast.repository.rows.LockNodeRepository$Waiting(w.name, n, db_clock())
            from HoldfastWaiter w join HoldfastNode n on n.id = w.nodeId
            where w.name in (:names) and n.ended = false and n.waitsUntil > db_clock()
            order by w.name, w.since, w.id
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockNodeRepository.Waiting> waiting(@Param("names") Collection<String> names);

    /** Returns the nodes among these that a lock's row refers to. */
    @Query("select distinct l.nodeId from HoldfastLock l where l.nodeId in (:ids)")
    List<String> named(@Param("ids") List<String> ids);

    /**
     * Locks these rows until the transaction ends, and returns their current state. It skips rows that another transaction
     * has locked.
     */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "-2"))
    @Query("select l from HoldfastLock l where l.name in (:names)")
    List<LockEntity> lockUnlockedRows(@Param("names") List<String> names);

    /**
     * Takes locks from owners whose node is gone, as {@link LockEntity#takenFromHolder} computes it. Lock the rows by
     * {@link #lockUnlockedRows} first, so that they still match the decision.
     */
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

    /** Deletes locks. Lock the rows by {@link #lockUnlockedRows} first, so that they still match the decision. */
    @Modifying
    @Query("delete from HoldfastLock l where l.name in (:names)")
    int purge(@Param("names") List<String> names);

    /** Deletes nodes that were ended. */
    @Modifying
    @Query("delete from HoldfastNode n where n.id in (:ids) and n.ended = true")
    int purgeNodes(@Param("ids") List<String> ids);

    /** Deletes the waiters of nodes that were ended, or are absent. */
    @Modifying
    @Query("""
            delete from HoldfastWaiter w
            where not exists (select 1 from HoldfastNode n where n.id = w.nodeId and n.ended = false)
            """)
    int purgeWaiters();
}
