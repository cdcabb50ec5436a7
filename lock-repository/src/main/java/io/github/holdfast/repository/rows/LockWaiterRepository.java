package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/** The queries of the rows of the waiters. {@link WaiterRows} describes them. Each query is one statement. */
public interface LockWaiterRepository extends Repository<LockEntity, String> {

    /** See {@link WaiterRows#add}. */
    @Modifying
    @Query("""
            insert into HoldfastWaiter (name, since, id, nodeId, mode, permits, fair)
            values (:name, :since, :id, :nodeId, :mode, 1, :fair)
            on conflict do nothing
            """)
    int add(
            @Param("name") String name,
            @Param("since") long since,
            @Param("id") String id,
            @Param("nodeId") String nodeId,
            @Param("mode") String mode,
            @Param("fair") boolean fair);

    /** See {@link WaiterRows#remove}. */
    @Modifying
    @Query("delete from HoldfastWaiter w where w.name = :name and w.since = :since and w.id = :id")
    int remove(@Param("name") String name, @Param("since") long since, @Param("id") String id);

    /** See {@link WaiterRows#removeStray}. */
    @Modifying
    @Query("delete from HoldfastWaiter w where w.name = :name and w.id = :id")
    int removeStray(@Param("name") String name, @Param("id") String id);

    /** See {@link WaiterRows#removeAll}. */
    @Modifying
    @Query("delete from HoldfastWaiter w where w.name = :name and w.nodeId = :nodeId")
    int removeAll(@Param("name") String name, @Param("nodeId") String nodeId);

    /** See {@link WaiterRows#countOtherNodes}. */
    @Query("select count(distinct n.id) " + NextWaiterQuery.ALL + " and n.id <> :nodeId")
    int countOtherNodes(@Param("name") String name, @Param("nodeId") String nodeId);

    /**
     * Returns the locks of these names that have a row but are not {@linkplain WaiterRows#available available}. The condition is the
     * opposite of that of {@link LockEntity#availability} for any other owner, by the database's clock: where that differs from other
     * clocks, a waiter attempts too early or too late. A lock of an overdue node counts as available only when it may be granted. A
     * semaphore is available if holders that are alive leave a permit. A shared lock is available if no waiter has reserved it, or if
     * none of its holders is alive. While it is reserved, it counts as a semaphore with one permit.
     *
     * <p>The subquery is not inside of other brackets, because Hibernate's parser would be slow. It is no derived table, because H2
     * would compute that for each lock, and the others would read all holders if their statistics are old.
     */
    @Query("""
            select l.name from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
            where l.name in (:names) and case when (l.availableAt is null or l.availableAt <= db_begin_plus(:nowMicros))
                and (l.owner is null or l.holdCount = -1
                    or n.id is null and l.expiresAt <= db_begin_plus(:sinceMicros)
                    or n.id is null and l.nodeId is not null and l.expiresAt is null
                    or n.expiresAt <= db_begin_plus(:sinceMicros)
                    or n.ended = true and n.waitsUntil = n.startedAt)
                and coalesce(l.permits, 1) > (
                    select coalesce(sum(p.permits), 0L)
                    from HoldfastHolder p left join HoldfastNode m on m.id = p.nodeId
                    where p.name = l.name and l.holdCount = -1
                        and (l.permits is not null or l.wantedUntil > db_begin_plus(:nowMicros))
                        and (p.nodeId is null and p.expiresAt > db_begin_plus(:sinceMicros)
                            or m.expiresAt > db_begin_plus(:sinceMicros)
                                and coalesce(m.waitsUntil, m.expiresAt) <> m.startedAt)) then 1 else 0 end = 0
            """)
    List<String> unavailable(
            @Param("names") List<String> names,
            @Param("nowMicros") long nowMicros,
            @Param("sinceMicros") long sinceMicros);

    /**
     * Counts the nodes that wait for any lock, without the calling service's own.
     *
     * @param bell the bell of the calling service. Without one, its own node counts too
     */
    @Query("""
            select count(*) from HoldfastNode n
            where n.ended = false and n.waitsUntil > db_clock() and (n.bell is null or n.bell <> :bell)
            """)
    Long countWaitingNodes(@Param("bell") long bell);

    /** Returns the bell of a node; nothing if it has no row, and null in its place if it does not listen. */
    @Query("select n.bell from HoldfastNode n where n.id = :id and n.ended = false")
    List<@Nullable Long> bell(@Param("id") String id);

    /**
     * Finds the bell of the service that has waited longest for a lock. Exclusive waiters come before those that would share it: more
     * owners can share it only while no waiter requests it exclusively.
     *
     * @param bell the bell of the calling service, which does not count
     * @return at most one bell; null in its place if that service polls
     */
    @Query(NextWaiterQuery.BELL_EXCLUSIVE_FIRST)
    List<@Nullable Long> next(@Param("name") String name, @Param("bell") long bell);
}
