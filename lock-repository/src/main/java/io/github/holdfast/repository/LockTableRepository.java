package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.LockModeType;
import jakarta.persistence.QueryHint;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.springframework.data.jpa.repository.Lock;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * Stretches of the tables, for those who inspect them and clean them up: pages in the order of the key, never all at once.
 *
 * <p>The columns that these queries select by have no index, on purpose: it would be written with every grant and
 * release, and is what deadlocks heartbeats with clean-up on MySQL. Each page reads the table from the key on where the
 * last one ended, without locking a row; what is to be changed is then locked by its key, row by row, passing over
 * those that somebody has locked. What housekeeping reads is judged by a time between the transaction's begin and now, which makes it
 * younger at most: on H2, to ask what time it is with each of thousands of rows, beside other sessions, meets one of its errors again
 * and again (see {@link SqlErrors}).
 *
 * <p>Every method is one statement and needs a transaction on the primary; {@link LockStore} opens one.
 */
public interface LockTableRepository extends Repository<LockEntity, String> {

    /** Reads the database's clock. */
    default Instant clock() {
        return Instant.EPOCH.plus(clockMicros(), ChronoUnit.MICROS);
    }

    /** See {@link #clock}. */
    @Query("select db_clock_micros()")
    long clockMicros();

    /** Reads the locks that are held, by a lease that is not over or through a node that was not ended. */
    @Query("""
            select new io.github.holdfast.repository.LockSnapshot(l, n, db_clock())
            from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
            where l.name > :after and l.owner is not null
                and (n.ended = false or (l.nodeId is null and l.expiresAt > db_clock()))
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockSnapshot> held(@Param("after") String after, @Param("limit") int limit);

    /** Reads the locks that are held through a node, whether it is alive or not. */
    @Query("""
            select l from HoldfastLock l where l.name > :after and l.nodeId = :nodeId
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> heldThrough(
            @Param("nodeId") String nodeId, @Param("after") String after, @Param("limit") int limit);

    /**
     * Finds the nodes whose lease is over, but which nobody has ended.
     *
     * @param sinceMicros since when, from the begin of the transaction: zero or negative
     */
    @Query("""
            select n.id from HoldfastNode n
            where n.id > :after and n.ended = false and n.expiresAt <= db_begin_plus(:sinceMicros)
            order by n.id fetch first :limit rows only
            """)
    List<String> overdueNodes(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    /** Reads the locks whose node was ended or is absent. */
    @Query("""
            select l from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
            where l.name > :after and l.nodeId is not null and (n.id is null or n.ended = true)
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> orphans(@Param("after") String after, @Param("limit") int limit);

    /**
     * Reads the locks that nobody has held, and that have been available, for some time.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     */
    @Query("""
            select l from HoldfastLock l
            where l.name > :after and l.nodeId is null and l.expiresAt < db_begin_plus(:sinceMicros)
                and (l.availableAt is null or l.availableAt < db_begin_plus(:sinceMicros))
            order by l.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockEntity> idle(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    /**
     * Finds the nodes that were ended, and whose lease has been over for some time.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     */
    @Query("""
            select n.id from HoldfastNode n
            where n.id > :after and n.ended = true and n.expiresAt < db_begin_plus(:sinceMicros)
            order by n.id fetch first :limit rows only
            """)
    List<String> idleNodes(
            @Param("after") String after, @Param("sinceMicros") long sinceMicros, @Param("limit") int limit);

    /** Tells which of these nodes are named by a lock. */
    @Query("select distinct l.nodeId from HoldfastLock l where l.nodeId in (:ids)")
    List<String> named(@Param("ids") List<String> ids);

    /** Locks those of these rows that nobody else has locked, until the transaction ends, as they stand now. */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "-2"))
    @Query("select l from HoldfastLock l where l.name in (:names)")
    List<LockEntity> lockThoseFree(@Param("names") List<String> names);

    /**
     * Takes locks from owners whose node is gone, as {@link LockEntity#vacated} says. The rows must be locked by {@link #lockThoseFree},
     * so that they are still what they were judged to be.
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
    int vacate(@Param("names") List<String> names, @Param("delayMicros") long delayMicros);

    /** Deletes locks. The rows must be locked by {@link #lockThoseFree}, so that they are still what they were judged to be. */
    @Modifying
    @Query("delete from HoldfastLock l where l.name in (:names)")
    int purge(@Param("names") List<String> names);

    /** Deletes nodes that were ended. */
    @Modifying
    @Query("delete from HoldfastNode n where n.id in (:ids) and n.ended = true")
    int purgeNodes(@Param("ids") List<String> ids);
}
