package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * Locks that are taken from their holders and given to nobody. Every method is one statement and needs a transaction on the
 * primary; {@link LockStore} opens one.
 */
public interface LockVacancyRepository extends Repository<LockEntity, String> {

    /**
     * Takes the lock from its holder, dead or alive, as {@link LockEntity#vacated} computed it. One statement.
     *
     * @param before what the decision was based on; held
     * @param after what the row becomes
     * @param delay how long nobody may be granted the lock, at least, from the moment of the write
     * @return false if the row was no longer as {@code before} says
     */
    default boolean vacate(LockEntity before, LockEntity after, Duration delay) {
        return vacate(
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.fencingToken(),
                        Micros.of(delay))
                == 1;
    }

    /**
     * Keeps a lock that this transaction has written from everybody for longer. One statement.
     *
     * @param written the row as it was written
     * @param delay how long nobody may be granted the lock, at least, from the moment of this write
     */
    default void delay(LockEntity written, Duration delay) {
        makeUnavailable(written.name(), written.version(), Micros.of(delay));
    }

    /** See {@link #vacate(LockEntity, LockEntity, Duration)}. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null, l.holdCount = 0, l.fencingToken = :token,
                l.expiresAt = db_clock(),
                l.availableAt = case when l.availableAt > db_clock_plus(:delayMicros) then l.availableAt
                    else db_clock_plus(:delayMicros) end,
                l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int vacate(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("token") long token,
            @Param("delayMicros") long delayMicros);

    /** See {@link #delay}. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.availableAt = case when l.availableAt > db_clock_plus(:delayMicros) then l.availableAt
                    else db_clock_plus(:delayMicros) end
            where l.name = :name and l.version = :version
            """)
    int makeUnavailable(
            @Param("name") String name, @Param("version") long version, @Param("delayMicros") long delayMicros);
}
