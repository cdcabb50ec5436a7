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
 * The statements of {@link WakeUpChannel}, for PostgreSQL only. Every method is one statement. Call it in a transaction on the
 * primary.
 */
interface LockWakeUpRepository extends Repository<LockEntity, String> {

    /**
     * Releases the last hold, as {@link LockRows#release} does. It also notifies the channel if another node waits. {@code
     * pg_notify} returns an empty text; its length, 0, becomes the hold count of the free lock. A separate statement to check
     * whether a node waits would cost every release a round trip.
     */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null,
                l.holdCount = case
                    when exists (select 1 from HoldfastNode n
                        where n.waitsUntil > db_clock() and n.ended = false and n.id <> :nodeId)
                    then length(cast(function('pg_notify', :channel, l.name) as string))
                    else 0 end,
                l.expiresAt = db_clock(), l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int release(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("channel") String channel,
            @Param("nodeId") String nodeId);

    /** Notifies the channel. */
    @Query("select cast(function('pg_notify', :channel, :payload) as string)")
    String send(@Param("channel") String channel, @Param("payload") String payload);
}
