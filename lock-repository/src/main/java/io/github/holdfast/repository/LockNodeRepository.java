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
 * The queries of the rows of the nodes. {@link NodeRows} describes them. Each query is one statement, in the current transaction.
 */
interface LockNodeRepository extends Repository<LockNode, String>, NodeRows {

    /** Whether no other process beats through the node: the version is one of its service, perhaps after a few writes of others. */
    String MAY_BE_OWN = "(n.version - :version < " + LEAST_STEP + " or n.version >= :next and n.version - :next < "
            + LEAST_STEP + ")";

    @Override
    @Query(
            "select new io.github.holdfast.repository.NodeRows$Snapshot(n, db_clock()) from HoldfastNode n where n.id = :id")
    Optional<Snapshot> read(@Param("id") String id);

    @Override
    @Query("""
            select new io.github.holdfast.repository.NodeRows$Snapshot(n, db_clock())
            from HoldfastNode n where n.id > coalesce(:after, ' ') order by n.id fetch first :limit rows only
            """)
    List<Snapshot> page(@Param("after") String after, @Param("limit") int limit);

    @Override
    default void register(String id, Duration lease, @Nullable String description) {
        insert(id, Micros.of(lease), description);
    }

    @Override
    default boolean endIfOverdue(String id, Duration tolerance) {
        return endOverdue(id, -Micros.of(tolerance)) == 1;
    }

    @Override
    default boolean markWaiting(String id, Duration lasts, @Nullable Long bell) {
        return waitFor(id, Micros.of(lasts), bell) == 1;
    }

    @Override
    @Modifying
    @Query("""
            update HoldfastNode n set n.ended = true, n.waitsUntil = n.startedAt, n.version = n.version + 1
            where n.id = :id and n.ended = false and
            """ + MAY_BE_OWN)
    int stop(@Param("id") String id, @Param("version") long version, @Param("next") long next);

    @Override
    @Modifying
    @Query("""
            update HoldfastNode n
            set n.ended = true, n.version = n.version + 1,
                n.expiresAt = case when n.expiresAt > db_clock() then db_clock() else n.expiresAt end
            where n.id = :id and n.ended = false and
            """ + MAY_BE_OWN)
    int end(@Param("id") String id, @Param("version") long version, @Param("next") long next);

    @Override
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

    @Override
    @Modifying
    @Query("""
            update HoldfastNode n set n.expiresAt = db_clock_plus(:leaseMicros), n.version = :next
            where n.id = :id and n.version = :version and n.ended = false and n.expiresAt > db_clock()
            """)
    int beat(
            @Param("id") String id,
            @Param("version") long version,
            @Param("next") long next,
            @Param("leaseMicros") long leaseMicros);

    /** See {@link #markWaiting}. */
    @Modifying
    @Query("""
            update HoldfastNode n set n.waitsUntil = db_clock_plus(:micros), n.bell = :bell
            where n.id = :id and n.ended = false
            """)
    int waitFor(@Param("id") String id, @Param("micros") long micros, @Param("bell") @Nullable Long bell);

    /** See {@link #endIfOverdue}. */
    @Modifying
    @Query("""
            update HoldfastNode n set n.ended = true, n.version = n.version + 1
            where n.id = :id and n.ended = false and n.expiresAt <= db_clock_plus(:sinceMicros)
            """)
    int endOverdue(@Param("id") String id, @Param("sinceMicros") long sinceMicros);
}
