package io.github.holdfast.repository.wakeup;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.NextWaiterQuery;
import io.github.holdfast.repository.rows.ReleaseQuery;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/** The statements of {@link MysqlWakeUpChannel}, for MySQL and MariaDB. Every method is one statement. */
public interface MysqlWakeUpRepository extends Repository<LockEntity, String> {

    /**
     * Finds the names for which threads of a service wait, and which no owner holds. The service was woken by its {@link MysqlBell}. The
     * names include the locks of dead holders, if they are available, and if their nodes were ended. They also include semaphores that
     * have a permit left, and shared locks without holders, or without a reservation. The names are hints.
     *
     * @param bell the service's bell
     */
    @Query("""
            select distinct w.name from HoldfastWaiter w
            join HoldfastNode n on n.id = w.nodeId join HoldfastLock l on l.name = w.name
            left join HoldfastNode h on h.id = l.nodeId
            where n.bell = :bell
                and (l.owner is null
                    or l.permits is not null
                        and l.permits > (select coalesce(sum(p.permits), 0L) from HoldfastHolder p where p.name = l.name)
                    or l.permits is null and l.holdCount = -1
                        and (l.wantedUntil is null or l.wantedUntil <= db_clock()
                            or not exists (select 1 from HoldfastHolder p where p.name = l.name))
                    or (l.availableAt is null or l.availableAt <= db_clock())
                        and (l.nodeId is null and l.expiresAt <= db_clock()
                            or l.nodeId is not null and (h.id is null or h.ended = true)))
            """)
    List<String> free(@Param("bell") long bell);

    /**
     * Releases the last hold, as {@link LockRows#release} does it. The bell of the waiter that is next becomes the key that the
     * statement generates, which the server sends with its answer
     * (https://dev.mysql.com/doc/refman/8.0/en/information-functions.html#function_last-insert-id). The key is 0 if no service is to be
     * woken. A separate statement for that would cost every release a round trip.
     */
    @Modifying
    @Query(ReleaseQuery.UP_TO_HOLD_COUNT + " db_generated_key((" + NextWaiterQuery.BELL + ")) "
            + ReleaseQuery.AFTER_HOLD_COUNT)
    int releaseAndTell(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("bell") long bell);
}
