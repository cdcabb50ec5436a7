package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockStore.WakeUpChannel;
import io.github.holdfast.repository.LockTables.LockRows;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The statements of {@link WakeUpChannel}. Every method is one statement. Both releases do what {@link LockRows#release} does for
 * the last hold, and find the waiter that is next. A separate statement for that would cost every release a round trip.
 */
interface LockWakeUpRepository extends Repository<LockEntity, String> {

    /**
     * Releases the last hold on PostgreSQL, and notifies the channel if another service waits. {@code pg_notify} returns an empty
     * text; its length, 0, becomes the hold count of the free lock.
     */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null,
                l.holdCount = case
                    when exists (select 1
            """ + NextWaiterQuery.OTHERS + """
                    ) then length(cast(function('pg_notify', :channel, concat(cast((
            """ + NextWaiterQuery.BELL + """
                    ) as string), ' ', l.name)) as string))
                    else 0 end,
                l.expiresAt = db_clock(), l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int releaseAndNotify(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("bell") long bell,
            @Param("channel") String channel);

    /**
     * Releases the last hold on MySQL and MariaDB. The bell of the waiter that is next becomes the key that the statement
     * generates, which the server sends with its answer
     * (https://dev.mysql.com/doc/refman/8.0/en/information-functions.html#function_last-insert-id). The key is 0 if nobody is to
     * be woken.
     */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null,
                l.holdCount = 0 * cast(function('last_insert_id', coalesce((
            """ + NextWaiterQuery.BELL + """
                ), 0L)) as integer),
                l.expiresAt = db_clock(), l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int releaseAndTell(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("bell") long bell);

    /** Notifies the channel, on PostgreSQL. */
    @Query("select cast(function('pg_notify', :channel, :payload) as string)")
    String send(@Param("channel") String channel, @Param("payload") String payload);
}
