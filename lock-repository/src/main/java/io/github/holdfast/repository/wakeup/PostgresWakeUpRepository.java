package io.github.holdfast.repository.wakeup;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.NextWaiterQuery;
import io.github.holdfast.repository.rows.ReleaseQuery;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The statements of {@link PostgresWakeUpChannel}. Every method is one statement. The release does what {@link LockRows#release} does
 * for the last hold, and finds the waiter that is next. A separate statement for that would cost every release a round trip.
 */
public interface PostgresWakeUpRepository extends Repository<LockEntity, String> {

    /**
     * Releases the last hold, and notifies the channel if another service waits. {@code db_notify} returns 0, which becomes the hold
     * count of the free lock.
     */
    @Modifying
    @Query(ReleaseQuery.UP_TO_HOLD_COUNT + " case when exists (select 1 " + NextWaiterQuery.OTHERS
            + ") then db_notify(:channel, (" + NextWaiterQuery.BELL + "), l.name) else 0 end "
            + ReleaseQuery.AFTER_HOLD_COUNT)
    int releaseAndNotify(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("bell") long bell,
            @Param("channel") String channel);

    /** Notifies the channel. */
    @Query("select cast(function('pg_notify', :channel, :payload) as string)")
    String send(@Param("channel") String channel, @Param("payload") String payload);
}
