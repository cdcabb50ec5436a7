package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rows of the locks. Each read of a row also reads the database's clock. Each change is a compare-and-set.
 *
 * <p>The calls share one transaction ({@code LockStore.inTransaction}), or each runs in a transaction of its own ({@code
 * LockStore.autocommit}). They throw {@link StoreException} if the database failed.
 */
public interface LockRows {

    /**
     * Reads a lock, its node and the database's clock. One statement, which never waits for a row lock. Only at
     * SERIALIZABLE on MySQL and MariaDB, it takes a shared row lock.
     *
     * @return empty if the lock has no row
     */
    Optional<LockSnapshot> read(String name);

    /**
     * Finds the id of the first place in the queue for a lock. Only fair requests count, and only those of nodes that are
     * {@linkplain LockNodeRepository#markWaiting marked as waiting}. One statement.
     */
    Optional<String> firstInQueue(String name);

    /**
     * Creates the row of a lock unless it exists. Call it in a transaction of its own, and only after a read has
     * found no row. The lock is free, or shared if the rows of holders have outlived its own, as after a deletion by hand. One
     * statement; two on MySQL and MariaDB. On an existing row, it would wait for any transaction that has the row locked. Version and token start
     * at the database's clock in microseconds, so both keep growing after a purge.
     *
     * @return the row as this call created it; empty if unknown. MySQL and MariaDB may also report a row that existed. It
     *     is then unlike that row, or like it and free
     */
    Optional<LockEntity> createIfMissing(String name);

    /**
     * Grants the lock, as {@link LockEntity#granted} computed it. One statement, or two if it waited for the row.
     *
     * @param before the state that the decision was based on
     * @param after the state to write
     * @param lease how long the grant lasts from the moment of the write. Through a node, it lasts as long as the node, and this
     *     is the lease of the node: so long others wait if the node has no row. Null if they need not
     * @param minimumHold the time from the write during which no other owner is granted the lock; null for none
     * @return false if another write was faster, so that the row no longer matches {@code before}; or if the lock is not
     *     available yet; or if the new holder's node is ended, or not in this database. Except on H2, {@code LockStore.autocommit}
     *     checks the node only until it has found the node's row in that database; on PostgreSQL, in that session and schema
     */
    boolean grant(LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold);

    /**
     * Re-enters or renews the lock, as {@link LockEntity#reentered} or {@link LockEntity#withHoldCount} computed it. The
     * lease lasts at least {@code lease} from the moment of the write, and never becomes shorter. One statement, or two if
     * it waited for the row.
     *
     * @param before the state that the decision was based on; held by a lease
     * @param after the state to write
     * @param lease how long the lease lasts at least from the moment of the write
     * @return false if the row no longer matches {@code before}, or its lease has expired
     */
    boolean extend(LockEntity before, LockEntity after, Duration lease);

    /**
     * Gives one hold back, as {@link LockEntity#released} or {@link LockEntity#withHoldCount} computed it. It does not
     * check whether the lease has expired. While the row still shows the owner and token, no other owner has acquired the lock,
     * and this one may free it. One statement.
     *
     * @param before the state that the decision was based on
     * @param after the state to write
     * @return false if the row no longer matches {@code before}
     */
    boolean release(LockEntity before, LockEntity after);

    /**
     * Does the same as {@link #release}. If the lock becomes free, and the store has opened its {@code
     * LockStore.wakeUpChannel}, the commit wakes the service that has waited longest for the lock, unless that service polls, as it does in the first
     * {@link WaiterRows#UNNOTICED} of its mark. One statement, and on MySQL and MariaDB one in the background to wake a service. While
     * many releases follow each other, up to twenty statements a second in the background read whether any service waits.
     */
    boolean releaseAndWake(LockEntity before, LockEntity after);

    /**
     * Writes the hold count of a lock that is held through a node, as {@link LockEntity#withHoldCount} computed it. It
     * does not check whether the node lives. While the row still shows the owner and token, no other owner has acquired the
     * lock. One statement.
     *
     * @param before the state that the decision was based on; held through a node
     * @param after the state to write; held
     * @return false if the row no longer matches {@code before}
     */
    boolean recount(LockEntity before, LockEntity after);

    /**
     * Raises the version of the row above this one, so that every pending write based on this version, or an earlier one,
     * fails. A write may be based on a version that the row does not have yet: that of a release that it expected. One
     * statement; it waits for a transaction that has the row locked.
     *
     * @return false if the row already has a later version, or does not exist
     */
    boolean supersede(String name, long version);
}
