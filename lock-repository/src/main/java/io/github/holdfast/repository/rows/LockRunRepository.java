package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.Grant;
import jakarta.persistence.QueryHint;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The rows of the runs of tasks. Every method is one statement. Call it in a transaction on the primary; {@code
 * LockStore.inTransaction} opens one.
 *
 * <p>A run is lost if its status is {@link LockRun.Status#RUNNING} but its grant no longer stands. A grant ends by a release, a
 * takeover, or the end of its lease or node. It never stands again.
 */
public interface LockRunRepository extends Repository<LockRun, LockRun.Key> {

    /** Reads the last run of a task. */
    @Query("""
            select r from HoldfastRun r where r.name = :name
            order by r.fencingToken desc fetch first 1 rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    Optional<LockRun> last(@Param("name") String name);

    /**
     * Records that a run begins, in the transaction that grants its lock.
     *
     * @param granted the lock's row, as the grant wrote it
     * @param period the number of the period; null if the task has none
     * @param begunAt the database's clock when the run was found to be due
     */
    default void begin(LockEntity granted, @Nullable Long period, Instant begunAt) {
        insert(
                granted.name(),
                granted.fencingToken(),
                period,
                granted.nodeId(),
                granted.holder(),
                begunAt,
                LockRun.Status.RUNNING);
    }

    /**
     * Records how a run ended, if its grant still stands.
     *
     * @param status {@link LockRun.Status#SUCCEEDED} or {@link LockRun.Status#FAILED}
     * @param error why it failed; null if it did not
     * @return false if the run's end is already recorded, or its grant has ended
     */
    default boolean end(Grant grant, LockRun.Status status, @Nullable String error) {
        return endWhileHeld(grant.name(), grant.fencingToken(), grant.owner(), status, error) == 1;
    }

    /**
     * Records that a run was lost, unless its end is already recorded.
     *
     * @param error why; null if that is not known
     * @return whether this call recorded it
     */
    default boolean lose(String name, long fencingToken, @Nullable String error) {
        return endInAnyCase(name, fencingToken, error) == 1;
    }

    /** Reads a run. */
    @Query("select r from HoldfastRun r where r.name = :name and r.fencingToken = :token")
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    Optional<LockRun> read(@Param("name") String name, @Param("token") long token);

    /** Reads the last run of each task, in the order of their names. */
    @Query("""
            select r from HoldfastRun r
                join (select o.name as name, max(o.fencingToken) as token from HoldfastRun o
                    where o.name > coalesce(:after, ' ') group by o.name) last
                on last.name = r.name and last.token = r.fencingToken
            order by r.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockRun> lastOfEach(@Param("after") String after, @Param("limit") int limit);

    /** Reads the runs of a task, the last one first. */
    @Query("""
            select r from HoldfastRun r where r.name = :name and r.fencingToken < :before
            order by r.fencingToken desc fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockRun> page(@Param("name") String name, @Param("before") long before, @Param("limit") int limit);

    /**
     * Reads the runs with status running whose grant no longer stands. If the lease of the run's node is over, the run
     * counts only once the node is ended.
     *
     * @param graceMicros from when a lease counts as over, relative to the begin of the transaction: negative, and longer
     *     than a timely renewal can take
     */
    @Query("""
            select r from HoldfastRun r
            where r.endedAt is null and (r.name > coalesce(:afterName, ' ') or r.name = :afterName and r.fencingToken > :afterToken)
                and not exists (
                    select 1 from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
                    where l.name = r.name and l.fencingToken = r.fencingToken and l.owner is not null
                        and (n.ended = false or n.id is null and l.expiresAt > db_begin_plus(:graceMicros)
                            or n.expiresAt > db_begin_plus(:graceMicros)
                                and coalesce(n.waitsUntil, n.expiresAt) <> n.startedAt))
            order by r.name, r.fencingToken fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockRun> abandoned(
            @Param("afterName") String afterName,
            @Param("afterToken") long afterToken,
            @Param("graceMicros") long graceMicros,
            @Param("limit") int limit);

    /**
     * Reads runs that ended some time ago, except the last run of each task. The last run shows that the current period
     * has already had its run. If it began before every period that contains now, it is not needed for that, and is read
     * too.
     *
     * @param sinceMicros since when, from the begin of the transaction: negative
     * @param longestMicros when the longest period that contains now can have begun, from the begin of the transaction:
     *     negative
     */
    @Query("""
            select r from HoldfastRun r
            where (r.name > coalesce(:afterName, ' ') or r.name = :afterName and r.fencingToken > :afterToken)
                and r.endedAt < db_begin_plus(:sinceMicros)
                and (r.begunAt < db_begin_plus(:longestMicros)
                    or exists (select 1 from HoldfastRun o where o.name = r.name and o.fencingToken > r.fencingToken))
            order by r.name, r.fencingToken fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockRun> old(
            @Param("sinceMicros") long sinceMicros,
            @Param("longestMicros") long longestMicros,
            @Param("afterName") String afterName,
            @Param("afterToken") long afterToken,
            @Param("limit") int limit);

    /** Deletes runs of a task. */
    @Modifying
    @Query("delete from HoldfastRun r where r.name = :name and r.fencingToken in (:tokens)")
    int purge(@Param("name") String name, @Param("tokens") List<Long> tokens);

    /** See {@link #begin}. */
    @Modifying
    @Query("""
            insert into HoldfastRun (name, fencingToken, period, nodeId, holder, begunAt, status)
            values (:name, :token, :period, :nodeId, :holder, :begunAt, :status)
            """)
    int insert(
            @Param("name") String name,
            @Param("token") long token,
            @Param("period") @Nullable Long period,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("begunAt") Instant begunAt,
            @Param("status") LockRun.Status status);

    /** See {@link #end}. */
    @Modifying
    @Query("""
            update HoldfastRun r set r.status = :status, r.endedAt = db_clock(), r.error = :error
            where r.name = :name and r.fencingToken = :token and r.endedAt is null
                and exists (select 1 from HoldfastLock l
                    where l.name = :name and l.fencingToken = :token and l.owner = :owner)
            """)
    int endWhileHeld(
            @Param("name") String name,
            @Param("token") long token,
            @Param("owner") String owner,
            @Param("status") LockRun.Status status,
            @Param("error") @Nullable String error);

    /** See {@link #lose}. */
    @Modifying
    @Query("""
            update HoldfastRun r
            set r.status = io.github.holdfast.entity.LockRun$Status.LOST, r.endedAt = db_clock(), r.error = :error
            where r.name = :name and r.fencingToken = :token and r.endedAt is null
            """)
    int endInAnyCase(@Param("name") String name, @Param("token") long token, @Param("error") @Nullable String error);
}
