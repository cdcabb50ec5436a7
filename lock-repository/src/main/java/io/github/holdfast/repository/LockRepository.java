package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.LockModeType;
import jakarta.persistence.QueryHint;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Lock;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.jpa.repository.QueryHints;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The rows of the locks: what can be done with one inside a transaction.
 *
 * <p>A lock is read together with the database's clock and changed by compare-and-set only, one statement each. It
 * extends the bare {@link Repository} on purpose: an inherited {@code save} selects first, then writes without the
 * token and owner that the decision was based on, and inserts a deleted row again.
 *
 * <p>Every method needs a transaction on the primary; {@link LockStore} opens one. Pages of the table are in
 * {@link LockTableRepository}, ways to take a lock from its holder in {@link LockVacancyRepository}.
 */
public interface LockRepository extends Repository<LockEntity, String> {

    /**
     * Reads a lock, its node and the database's clock. One statement, which never waits for a lock (except at
     * SERIALIZABLE on MySQL and MariaDB, where it takes a shared row lock).
     *
     * @return empty if the lock has no row
     */
    @Query("""
            select new io.github.holdfast.repository.LockSnapshot(l, n, db_clock())
            from HoldfastLock l left join HoldfastNode n on n.id = l.nodeId
            where l.name = :name
            """)
    @QueryHints(@QueryHint(name = "org.hibernate.readOnly", value = "true"))
    Optional<LockSnapshot> read(@Param("name") String name);

    /**
     * Reads a lock and locks its row until the transaction ends; waits for whoever has it locked. The row must exist:
     * locking a missing one takes gap locks on MySQL and MariaDB that deadlock its creators.
     *
     * @return empty if the lock has no row
     */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @Query("select l from HoldfastLock l where l.name = :name")
    Optional<LockEntity> findForUpdate(@Param("name") String name);

    /**
     * As {@link #findForUpdate}, but fails at once if another transaction has the row locked.
     *
     * @return empty if the lock has no row
     */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "0"))
    @Query("select l from HoldfastLock l where l.name = :name")
    Optional<LockEntity> findForUpdateNoWait(@Param("name") String name);

    /**
     * As {@link #findForUpdate}, but passes over a row that another transaction has locked.
     *
     * @return empty if the lock has no row, or another transaction has it locked
     */
    @Lock(LockModeType.PESSIMISTIC_WRITE)
    @QueryHints(@QueryHint(name = "jakarta.persistence.lock.timeout", value = "-2"))
    @Query("select l from HoldfastLock l where l.name = :name")
    Optional<LockEntity> findForUpdateSkipLocked(@Param("name") String name);

    /**
     * Creates the row of a free lock unless there is one. Call it only after a read has seen none, in a transaction of
     * its own: on an existing row it waits for whoever has it locked. Version and token start at the database's clock in
     * microseconds, so that both stay monotonic when a row was purged, and a remembered version never matches the new
     * row.
     *
     * @return meaningless: MySQL and MariaDB count an existing row too
     */
    @Modifying
    @Query("""
            insert into HoldfastLock (name, holdCount, fencingToken, expiresAt, version)
            values (:name, 0, db_clock_micros(), db_clock(), db_clock_micros())
            on conflict do nothing
            """)
    int createIfMissing(@Param("name") String name);

    /**
     * Grants the lock, as {@link LockEntity#granted} computed it. One statement, or two if it waited for the row.
     *
     * @param before what the decision was based on
     * @param after what the row becomes
     * @param lease how long the grant lasts from the moment of the write; null if it lasts as long as the node
     * @param minimumHold how long nobody else may be granted the lock, from the moment of the write; null for no limit
     * @return false if the row was no longer as {@code before} says, because somebody was faster, or the lock is not available yet, or the
     *     node through which it is to be held is ended, or is not in this database (of {@link LockStore#standalone} on MySQL and MariaDB
     *     only if the node's row was not found there before)
     */
    default boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        long start = System.nanoTime();
        boolean granted = grant(
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.owner(),
                        after.nodeId(),
                        after.holder(),
                        after.fencingToken(),
                        micros(lease),
                        micros(minimumHold))
                == 1;
        if (granted && hasWaitedSince(start)) {
            grantFromNow(after.name(), after.version(), micros(lease), micros(minimumHold));
        }
        return granted;
    }

    /**
     * Re-enters or renews the lock, as {@link LockEntity#reentered} or {@link LockEntity#heldTimes} computed it: the lease
     * lasts at least {@code lease} from the moment of the write, and is never shortened. One statement, or two if it waited
     * for the row.
     *
     * @param before what the decision was based on; held by a lease
     * @param after what the row becomes
     * @param lease how long the lease lasts at least from the moment of the write
     * @return false if the row was no longer as {@code before} says, or its lease is over
     */
    default boolean extend(LockEntity before, LockEntity after, Duration lease) {
        long start = System.nanoTime();
        boolean extended = extend(
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.holdCount(),
                        micros(lease))
                == 1;
        if (extended && hasWaitedSince(start)) {
            extendFromNow(after.name(), after.version(), micros(lease));
        }
        return extended;
    }

    /**
     * Gives one hold back, as {@link LockEntity#released} or {@link LockEntity#heldTimes} computed it. It does not ask whether the lease is over: a row
     * that still carries owner and token is still the releaser's to free. One statement.
     *
     * @param before what the decision was based on
     * @param after what the row becomes
     * @return false if the row was no longer as {@code before} says
     */
    default boolean release(LockEntity before, LockEntity after) {
        int changed = after.owner() == null
                ? release(before.name(), before.version(), before.fencingToken(), before.owner())
                : recount(before.name(), before.version(), before.fencingToken(), before.owner(), after.holdCount());
        return changed == 1;
    }

    /**
     * Writes the hold count of a lock that is held through a node, as {@link LockEntity#heldTimes} computed it. It does not ask
     * whether the node lives: while the row carries owner and token, nobody else was granted the lock. One statement.
     *
     * @param before what the decision was based on; held through a node
     * @param after what the row becomes; held
     * @return false if the row was no longer as {@code before} says
     */
    default boolean recount(LockEntity before, LockEntity after) {
        return release(before, after);
    }

    /**
     * Makes every write impossible that was decided on this version of the row and has not happened yet, by moving the
     * version on. One statement; it waits for a transaction that has the row locked.
     *
     * @return false if the row has moved on already
     */
    default boolean supersede(String name, long version) {
        return moveOn(name, version) == 1;
    }

    /** See {@link #grant(LockEntity, LockEntity, Duration, Duration)}. */
    @Modifying
    @Query(GrantQuery.GRANT + GrantQuery.IF_NODE_LIVES)
    int grant(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros);

    /** As {@link #grant}, where the node's row is known to be. */
    @Modifying
    @Query(GrantQuery.GRANT)
    int grantWhereNodeIs(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("owner") @Nullable String owner,
            @Param("nodeId") @Nullable String nodeId,
            @Param("holder") @Nullable String holder,
            @Param("token") long token,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros);

    /** Sets what {@link #grant} set by the clock once more, now that the row is locked. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.acquiredAt = db_clock(), l.expiresAt = db_clock_plus(:leaseMicros),
                l.availableAt = db_clock_plus(:minimumHoldMicros)
            where l.name = :name and l.version = :version
            """)
    int grantFromNow(
            @Param("name") String name,
            @Param("version") long version,
            @Param("leaseMicros") @Nullable Long leaseMicros,
            @Param("minimumHoldMicros") @Nullable Long minimumHoldMicros);

    /** See {@link #extend(LockEntity, LockEntity, Duration)}. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.holdCount = :holdCount,
                l.expiresAt = case when l.expiresAt > db_clock_plus(:leaseMicros) then l.expiresAt
                    else db_clock_plus(:leaseMicros) end,
                l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner and l.expiresAt > db_clock()
            """)
    int extend(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("holdCount") int holdCount,
            @Param("leaseMicros") @Nullable Long leaseMicros);

    /** Sets what {@link #extend} set by the clock once more, now that the row is locked. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.expiresAt = case when l.expiresAt > db_clock_plus(:leaseMicros) then l.expiresAt
                else db_clock_plus(:leaseMicros) end
            where l.name = :name and l.version = :version
            """)
    int extendFromNow(
            @Param("name") String name,
            @Param("version") long version,
            @Param("leaseMicros") @Nullable Long leaseMicros);

    /** See {@link #release(LockEntity, LockEntity)}: the last hold. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null, l.holdCount = 0, l.expiresAt = db_clock(),
                l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int release(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner);

    /** See {@link #release(LockEntity, LockEntity)}: another hold. */
    @Modifying
    @Query("""
            update HoldfastLock l
            set l.holdCount = :holdCount, l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """)
    int recount(
            @Param("name") String name,
            @Param("version") long version,
            @Param("expectedToken") long expectedToken,
            @Param("expectedOwner") @Nullable String expectedOwner,
            @Param("holdCount") int holdCount);

    /** See {@link #supersede}. */
    @Modifying
    @Query("update HoldfastLock l set l.version = l.version + 1 where l.name = :name and l.version = :version")
    int moveOn(@Param("name") String name, @Param("version") long version);

    /**
     * Whether a write took so long that it has probably waited for the row. PostgreSQL computes the new row, clock and
     * all, before it waits, and again only if the other transaction changed the row; H2's clock is the statement's start, and so
     * is MySQL's and MariaDB's where the statement is the transaction.
     */
    private static boolean hasWaitedSince(long start) {
        return System.nanoTime() - start > Duration.ofSeconds(1).toNanos();
    }

    private static @Nullable Long micros(@Nullable Duration duration) {
        return duration == null ? null : Micros.of(duration);
    }
}
