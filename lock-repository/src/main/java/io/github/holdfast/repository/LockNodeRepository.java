package io.github.holdfast.repository;

import io.github.holdfast.entity.LockNode;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The rows of the nodes: one for each running service, which its heartbeat keeps alive.
 *
 * <p>Every method is one statement and needs a transaction on the primary; {@link LockStore} opens one. A write that
 * waits for another transaction may have taken its clock before; it then ends a lease earlier than it might, never later.
 */
public interface LockNodeRepository extends Repository<LockNode, String> {

    /**
     * Reads a node and the database's clock.
     *
     * @return empty if the node has no row, which counts as ended
     */
    @Query("select new io.github.holdfast.repository.NodeSnapshot(n, db_clock()) from HoldfastNode n where n.id = :id")
    Optional<NodeSnapshot> read(@Param("id") String id);

    /**
     * Reads nodes, alive and dead, in the order of their ids.
     *
     * @param after the last id of the page before; the empty string for the first page
     */
    @Query("""
            select new io.github.holdfast.repository.NodeSnapshot(n, db_clock())
            from HoldfastNode n where n.id > :after order by n.id fetch first :limit rows only
            """)
    List<NodeSnapshot> page(@Param("after") String after, @Param("limit") int limit);

    /**
     * Registers a node, with version 0.
     *
     * @param id one that was never used before
     * @param lease how long it lives without a heartbeat, from the moment of the write
     * @param description application, host and process, for people
     */
    default void register(String id, Duration lease, @Nullable String description) {
        insert(id, Micros.of(lease), description);
    }

    /**
     * Keeps a node alive for another lease from the moment of the write, unless its lease is over or it was ended.
     *
     * @return false if the node is over, or its row has moved on from this version: it must be read again
     */
    default boolean beat(String id, long version, Duration lease) {
        return extend(id, version, Micros.of(lease)) == 1;
    }

    /**
     * Ends a node whose lease is over. A heartbeat that is on its way is waited for, and decides.
     *
     * @param tolerance for how long the lease must have been over
     * @return false if it is alive again, has not been over for that long, was ended by somebody else, or is absent: it must be
     *     read again
     */
    default boolean endIfOverdue(String id, Duration tolerance) {
        return endOverdue(id, -Micros.of(tolerance)) == 1;
    }

    /**
     * Says that threads of a node wait for a lock, so that whoever gives one back offers it to other nodes, and notifies them if it
     * can. It moves no version on: a heartbeat that was decided before still happens.
     *
     * @param lasts for how long from the moment of the write
     * @return false if the node was ended, or is absent
     */
    default boolean markWaiting(String id, Duration lasts) {
        return waitFor(id, Micros.of(lasts)) == 1;
    }

    /**
     * Whether another node says that threads of it wait, for whichever lock.
     *
     * @param id the asking node; the empty string if there is none
     */
    default boolean isAnotherWaiting(String id) {
        return countOthersWaiting(id) > 0;
    }

    /**
     * As {@link #end}, for a service that is closed, which {@link LockNode#isStopped} then tells. Does nothing if the node was ended
     * by another one.
     */
    @Modifying
    @Query("""
            update HoldfastNode n set n.ended = true, n.waitsUntil = n.startedAt, n.version = n.version + 1
            where n.id = :id and n.ended = false
            """)
    int stop(@Param("id") String id);

    /** Ends a node, so that the locks held through it are free. */
    @Modifying
    @Query("update HoldfastNode n set n.ended = true, n.version = n.version + 1 where n.id = :id and n.ended = false")
    int end(@Param("id") String id);

    /** Moves a node's version on, so that its next heartbeat misses and it looks after its locks. */
    @Modifying
    @Query("update HoldfastNode n set n.version = n.version + 1 where n.id = :id and n.ended = false")
    int alert(@Param("id") String id);

    /** See {@link #register}. */
    @Modifying
    @Query("""
            insert into HoldfastNode (id, startedAt, expiresAt, ended, description, version)
            values (:id, db_clock(), db_clock_plus(:leaseMicros), false, :description, 0)
            """)
    int insert(
            @Param("id") String id,
            @Param("leaseMicros") long leaseMicros,
            @Param("description") @Nullable String description);

    /** See {@link #beat}. */
    @Modifying
    @Query("""
            update HoldfastNode n set n.expiresAt = db_clock_plus(:leaseMicros), n.version = n.version + 1
            where n.id = :id and n.version = :version and n.ended = false and n.expiresAt > db_clock()
            """)
    int extend(@Param("id") String id, @Param("version") long version, @Param("leaseMicros") long leaseMicros);

    /** See {@link #markWaiting}. */
    @Modifying
    @Query("update HoldfastNode n set n.waitsUntil = db_clock_plus(:micros) where n.id = :id and n.ended = false")
    int waitFor(@Param("id") String id, @Param("micros") long micros);

    /** See {@link #isAnotherWaiting}. */
    @Query("select count(n) from HoldfastNode n where n.waitsUntil > db_clock() and n.ended = false and n.id <> :id")
    long countOthersWaiting(@Param("id") String id);

    /** See {@link #endIfOverdue}. */
    @Modifying
    @Query("""
            update HoldfastNode n set n.ended = true, n.version = n.version + 1
            where n.id = :id and n.ended = false and n.expiresAt <= db_clock_plus(:sinceMicros)
            """)
    int endOverdue(@Param("id") String id, @Param("sinceMicros") long sinceMicros);
}
