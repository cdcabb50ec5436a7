package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
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
 * The queries of the rows of the runs of tasks. {@link RunRows} describes them. Each query is one statement, in the current
 * transaction.
 */
interface LockRunRepository extends Repository<LockRun, LockRun.Key>, RunRows {

    @Override
    @Query("""
            select r from HoldfastRun r where r.name = :name
            order by r.fencingToken desc fetch first 1 rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    Optional<LockRun> last(@Param("name") String name);

    @Override
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

    @Override
    default boolean end(Grant grant, LockRun.Status status, @Nullable String error) {
        return endWhileHeld(grant.name(), grant.fencingToken(), grant.owner(), status, error) == 1;
    }

    @Override
    default boolean lose(String name, long fencingToken, @Nullable String error) {
        return endInAnyCase(name, fencingToken, error) == 1;
    }

    @Override
    @Query("select r from HoldfastRun r where r.name = :name and r.fencingToken = :token")
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    Optional<LockRun> read(@Param("name") String name, @Param("token") long token);

    @Override
    @Query("""
            select r from HoldfastRun r
                join (select o.name as name, max(o.fencingToken) as token from HoldfastRun o
                    where o.name > coalesce(:after, ' ') group by o.name) last
                on last.name = r.name and last.token = r.fencingToken
            order by r.name fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockRun> lastOfEach(@Param("after") String after, @Param("limit") int limit);

    @Override
    @Query("""
            select r from HoldfastRun r where r.name = :name and r.fencingToken < :before
            order by r.fencingToken desc fetch first :limit rows only
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    List<LockRun> page(@Param("name") String name, @Param("before") long before, @Param("limit") int limit);

    @Override
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

    @Override
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

    @Override
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
