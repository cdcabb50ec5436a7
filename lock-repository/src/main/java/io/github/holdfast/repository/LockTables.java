package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAvailability;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Holdfast's tables: the rows of the locks, of the nodes, and of the runs of tasks. {@link LockStore} gives access to them,
 * mostly inside a transaction. If the database fails, {@link LockStore#inTransaction} throws {@link StoreException}, and so do the
 * rows of {@link LockStore#autocommit}.
 */
public interface LockTables {

    /**
     * A lock as one statement saw it.
     *
     * @param row the lock's row
     * @param node the node that the row refers to; null if it refers to none, or if the node has no row
     * @param dbNow the database's clock in that statement
     */
    record LockSnapshot(LockEntity row, @Nullable LockNode node, Instant dbNow) {

        /**
         * Returns whether the lock is available to an owner.
         *
         * @param owner the owner that wants to acquire it
         * @param nodeId the node to hold it through; null to hold it by a lease
         * @param tolerance for how long a lease must have been over before the lock is taken from its holder
         */
        public LockAvailability availability(String owner, @Nullable String nodeId, Duration tolerance) {
            return row.availability(owner, nodeId, node, dbNow, tolerance);
        }

        /**
         * Whether this owner still holds the lock, and so may renew or re-enter it.
         *
         * @param nodeId the node that the lock is held through; null if it is held by a lease
         */
        public boolean isHeldBy(String owner, @Nullable String nodeId) {
            return availability(owner, nodeId, Duration.ZERO) == LockAvailability.HELD_BY_CLAIMANT;
        }

        /**
         * Returns the remaining time of the hold at {@link #dbNow}. A hold lasts until the end of its lease, or of its node's
         * lease. Zero if nobody holds the lock, or if that lease is over.
         */
        public Duration timeUntilOver() {
            return row.owner() == null ? Duration.ZERO : RemainingTime.of(row.expiresAt(), node, dbNow);
        }

        /**
         * Returns the time until the lock can be granted, as far as the row shows. Null if the lock is held through a node.
         *
         * @param tolerance for how long a lease must have been over before the lock is taken from its holder
         */
        public @Nullable Duration timeUntilFree(Duration tolerance) {
            return row.timeUntilFree(dbNow, tolerance);
        }
    }

    /**
     * The rows of the locks. Each read of a row also reads the database's clock. Each change is a compare-and-set.
     *
     * <p>The calls share one transaction ({@link LockStore#inTransaction}), or each runs in a transaction of its own ({@link
     * LockStore#autocommit}). They throw {@link StoreException} if the database failed.
     */
    interface LockRows {

        /**
         * Reads a lock, its node and the database's clock. One statement, which never waits for a row lock. Only at
         * SERIALIZABLE on MySQL and MariaDB, it takes a shared row lock.
         *
         * @return empty if the lock has no row
         */
        Optional<LockSnapshot> read(String name);

        /**
         * Finds the id of the first place in the queue for a lock. Only fair requests count, and only those of nodes that are
         * {@linkplain NodeRows#markWaiting marked as waiting}. One statement.
         */
        Optional<String> firstInQueue(String name);

        /**
         * Creates the row of a lock unless it exists. Call it in a transaction of its own, and only after a read has
         * found no row. The lock is free, or shared if the rows of holders have outlived its own, as after a deletion by hand. One
         * statement; two on MySQL and MariaDB. On an existing row, it would wait for any transaction that has the row locked. Version and token start
         * at the database's clock in microseconds, so both keep growing after a purge.
         *
         * @return the row as this call created it; empty if unknown. MySQL and MariaDB may also tell of a row that existed. It
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
         *     available yet; or if the new holder's node is ended, or not in this database. On MySQL and MariaDB, {@link
         *     LockStore#autocommit} checks the node only until it has found the node's row in that database
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
         * @return false if the row no longer matches {@code before}, or its lease is over
         */
        boolean extend(LockEntity before, LockEntity after, Duration lease);

        /**
         * Gives one hold back, as {@link LockEntity#released} or {@link LockEntity#withHoldCount} computed it. It does not
         * check whether the lease is over. While the row still shows the owner and token, nobody else has acquired the lock,
         * and its owner may free it. One statement.
         *
         * @param before the state that the decision was based on
         * @param after the state to write
         * @return false if the row no longer matches {@code before}
         */
        boolean release(LockEntity before, LockEntity after);

        /**
         * Writes the hold count of a lock that is held through a node, as {@link LockEntity#withHoldCount} computed it. It
         * does not check whether the node lives. While the row still shows the owner and token, nobody else has acquired the
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

    /**
     * The rows of the locks in the current transaction. It adds operations that need a longer transaction: row locks, which
     * last until the transaction ends, and takeovers, which accompany other writes. Thread-safe.
     */
    interface TransactionalLockRows extends LockRows {

        /**
         * Reads a lock and locks its row until the transaction ends. It waits for any transaction that has the row locked. The
         * row must exist. On MySQL and MariaDB, locking a missing row takes gap locks, and these deadlock with transactions
         * that create the row.
         *
         * @return empty if the lock has no row
         */
        Optional<LockEntity> findForUpdate(String name);

        /**
         * Does the same as {@link #findForUpdate}, but skips a row that another transaction has locked.
         *
         * @return empty if the lock has no row, or another transaction has it locked
         */
        Optional<LockEntity> findForUpdateSkipLocked(String name);

        /**
         * Takes the lock from its holder, dead or alive, as {@link LockEntity#takenFromHolder} computed it. It grants the lock
         * to nobody. One statement.
         *
         * @param before the state that the decision was based on; held
         * @param after the state to write
         * @param delay the minimum time after the write before another grant
         * @return false if the row no longer matches {@code before}
         */
        boolean takeFromHolder(LockEntity before, LockEntity after, Duration delay);

        /**
         * Keeps a lock unavailable for longer, after this transaction has written its row. One statement.
         *
         * @param written the row as it was written
         * @param delay the minimum time after this write before another grant
         */
        void delay(LockEntity written, Duration delay);

        /**
         * Records a forced release in the audit log. One statement.
         *
         * @param before the lock as it was held before the release
         * @param doneBy who forced the release, for people
         * @param reason why
         */
        void recordForcedRelease(LockEntity before, String doneBy, String reason);

        /** Whether the audit log contains a forced release of the grant with this token. One statement. */
        boolean wasForced(String name, long fencingToken);
    }

    /**
     * The rows of the nodes. Each running lock service is one node, and its heartbeat extends the lease in the row.
     *
     * <p>Every method is one statement. Call it in a transaction on the primary; {@link LockStore#inTransaction} opens one. A
     * write may read the clock before it waits for another transaction. The lease then ends earlier than necessary, never
     * later.
     */
    interface NodeRows {

        /**
         * A node as one statement saw it.
         *
         * @param node the node's row
         * @param dbNow the database's clock in that statement
         */
        record Snapshot(LockNode node, Instant dbNow) {

            /** Whether the node keeps its locks: nobody has ended it, and its lease is not over. */
            public boolean isAlive() {
                return !node.isEnded() && node.expiresAt().isAfter(dbNow);
            }

            /** Returns the remaining time of the node's lease; zero if it is over. */
            public Duration expiresIn() {
                return node.expiresAt().isAfter(dbNow) ? Duration.between(dbNow, node.expiresAt()) : Duration.ZERO;
            }
        }

        /**
         * A waiter as one statement saw it.
         *
         * @param lockName what it waits for
         * @param node its node
         */
        record Waiting(String lockName, Snapshot node) {

            /** The constructor that the query calls. */
            public Waiting(String lockName, LockNode node, Instant dbNow) {
                this(lockName, new Snapshot(node, dbNow));
            }
        }

        /**
         * A waiter in its queue, and the lock that it waits for, as one statement saw them.
         *
         * @param lockName what it waits for
         * @param since since when, by the database's clock
         * @param mode the code of what it wants; see {@link WaiterRows.WaitMode}
         * @param node its node
         * @param lock the lock; null if it has no row yet
         */
        record Queued(
                String lockName,
                Instant since,
                String mode,
                Snapshot node,
                @Nullable LockSnapshot lock) {

            /** The constructor that the query calls. */
            public Queued(
                    String lockName,
                    long sinceMicros,
                    String mode,
                    LockNode node,
                    @Nullable LockEntity lock,
                    @Nullable LockNode locksNode,
                    Instant dbNow) {
                this(
                        lockName,
                        Instant.EPOCH.plus(sinceMicros, ChronoUnit.MICROS),
                        mode,
                        new Snapshot(node, dbNow),
                        lock == null ? null : new LockSnapshot(lock, locksNode, dbNow));
            }
        }

        /**
         * Reads a node and the database's clock.
         *
         * @return empty if the node has no row
         */
        Optional<Snapshot> read(String id);

        /**
         * Reads nodes, alive and dead, in the order of their ids.
         *
         * @param after the last id of the page before; the empty string for the first page
         */
        List<Snapshot> page(String after, int limit);

        /**
         * Registers a node, with version 0.
         *
         * @param id an id that no node has used before
         * @param lease how long the node lives without a heartbeat, from the moment of the write
         * @param description application, host and process, for people
         */
        void register(String id, Duration lease, @Nullable String description);

        /** Between two heartbeats, other writes change the version of a node's row by less than this. A heartbeat changes it by more. */
        long LEAST_STEP = 1 << 16;

        /** Returns a lease in microseconds, rounded up: the database must not end the node before the node itself does. */
        static long micros(Duration lease) {
            return Micros.of(lease);
        }

        /**
         * Extends a node's lease from the moment of the write, unless the lease is over or the node was ended.
         *
         * @param next the version that the row gets. All other writes add one, so the beats of two processes that are copies of one
         *     image can be told apart by versions that each of them chose at random
         * @param leaseMicros how long the node lives without another heartbeat; see {@link #micros}
         * @return 0 if the node's lease is over, the node was ended, or its row has another version; then read the row again
         */
        int beat(String id, long version, long next, long leaseMicros);

        /**
         * Ends a node whose lease is over. If a heartbeat has the row locked, this call waits, and a successful heartbeat
         * wins.
         *
         * @param tolerance how long the lease must already be over
         * @return false if the node is alive again, its lease has not been over for that long, another node has ended it, or
         *     it is absent; then read the row again
         */
        boolean endIfOverdue(String id, Duration tolerance);

        /**
         * Marks a node as waiting, because its threads wait for locks. Only then do the rows of its waiters count. The mark
         * leaves the version unchanged, so that a concurrent heartbeat still succeeds.
         *
         * @param lasts how long the mark lasts from the moment of the write
         * @param bell the number by which others wake the node; null if it polls
         * @return false if the node was ended, or is absent
         */
        boolean markWaiting(String id, Duration lasts, @Nullable Long bell);

        /**
         * Ends a node whose own service is closed, so that the locks held through it are free at once; {@link LockNode#isStopped} then
         * returns true. Does nothing if another node has already ended it, or a copy of the process beats through it.
         *
         * @param version the version after the last confirmed heartbeat
         * @param next what a heartbeat without an answer may have written; otherwise the same
         */
        int stop(String id, long version, long next);

        /**
         * Ends a node that its service has given up. Its lease is over then, so that the locks held through it are free. Parameters as of
         * {@link #stop(String, long, long)}.
         */
        int end(String id, long version, long next);

        /**
         * Increments a node's version. The node's next heartbeat then fails its compare-and-set, and the node checks its
         * locks.
         */
        int alert(String id);
    }

    /**
     * The rows of the waiters: each shows that a node waits for a lock. They are hints, which decide nothing. A row counts
     * only while its node is {@linkplain NodeRows#markWaiting marked as waiting}. Each call is one statement.
     */
    interface WaiterRows {

        /**
         * A place in the order of the waiters for one lock.
         *
         * @param since the database's clock when the waiter first read it, in microseconds since 1970, unless
         *     the order of a service's fair requests needs another time
         * @param id distinguishes the waiters of the same time; at most 64 characters
         * @param nodeId the node that waits
         * @param mode what it waits for
         * @param isFair whether the waiter has a place in {@link LockRows#firstInQueue the queue}
         */
        record Ticket(String name, long since, String id, String nodeId, WaitMode mode, boolean isFair) {}

        /** What a waiter waits for. */
        enum WaitMode {
            /** A lock, alone. */
            EXCLUSIVE("X"),

            /** A lock, together with others. */
            SHARED("S"),

            /** Permits of a semaphore. */
            PERMITS("P");

            private final String code;

            WaitMode(String code) {
                this.code = code;
            }

            String code() {
                return code;
            }
        }

        /** Adds a row. Does nothing if it is present. */
        void add(Ticket ticket);

        /** Removes a row. Does nothing if it is absent. */
        void remove(Ticket ticket);

        /** Removes a row of which only the id is known. Does nothing if it is absent. */
        void removeStray(String name, String id);

        /** Removes all rows of a node for one lock. */
        void removeAll(String name, String nodeId);

        /** The largest number of names that {@link #available} takes. Each is a parameter of the statement. */
        int MOST_NAMES = 512;

        /**
         * Finds the locks that may be available to another owner than their present one: nobody holds them, or their holder is
         * dead, or the lock has no row.
         *
         * @param names at least one, and {@link #MOST_NAMES} at most
         * @param tolerance for how long a lease must have been over
         */
        List<String> available(List<String> names, Duration tolerance);

        /** Returns how many nodes wait for a lock, without this one; the empty string leaves none out. */
        int countOtherNodes(String name, String nodeId);
    }

    /**
     * The rows of the runs of tasks. Every method is one statement. Call it in a transaction on the primary; {@link
     * LockStore#inTransaction} opens one.
     *
     * <p>A run is lost if its status is {@link LockRun.Status#RUNNING} but its grant no longer stands. A grant ends by a release, a
     * takeover, or the end of its lease or node. It never stands again.
     */
    interface RunRows {

        /** Reads the last run of a task. */
        Optional<LockRun> last(String name);

        /**
         * Records that a run begins, in the transaction that grants its lock.
         *
         * @param granted the lock's row, as the grant wrote it
         * @param period the number of the period; null if the task has none
         * @param begunAt the database's clock when the run was found to be due
         */
        void begin(LockEntity granted, @Nullable Long period, Instant begunAt);

        /**
         * Records how a run ended, if its grant still stands.
         *
         * @param status {@link LockRun.Status#SUCCEEDED} or {@link LockRun.Status#FAILED}
         * @param error why it failed; null if it did not
         * @return false if the run's end is already recorded, or its grant has ended
         */
        boolean end(Grant grant, LockRun.Status status, @Nullable String error);

        /**
         * Records that a run was lost, unless its end is already recorded.
         *
         * @param error why; null if that is not known
         * @return whether this call recorded it
         */
        boolean lose(String name, long fencingToken, @Nullable String error);

        /** Reads a run. */
        Optional<LockRun> read(String name, long token);

        /** Reads the last run of each task, in the order of their names. */
        List<LockRun> lastOfEach(String after, int limit);

        /** Reads the runs of a task, the last one first. */
        List<LockRun> page(String name, long before, int limit);

        /**
         * Reads the runs with status running whose grant no longer stands. If the lease of the run's node is over, the run
         * counts only once the node is ended.
         *
         * @param graceMicros from when a lease counts as over, relative to the begin of the transaction: negative, and longer
         *     than a timely renewal can take
         */
        List<LockRun> abandoned(String afterName, long afterToken, long graceMicros, int limit);

        /**
         * Reads runs that ended some time ago, except the last run of each task. The last run shows that the current period
         * has already had its run. If it began before every period that contains now, it is not needed for that, and is read
         * too.
         *
         * @param sinceMicros since when, from the begin of the transaction: negative
         * @param longestMicros when the longest period that contains now can have begun, from the begin of the transaction:
         *     negative
         */
        List<LockRun> old(long sinceMicros, long longestMicros, String afterName, long afterToken, int limit);

        /** Deletes runs of a task. */
        int purge(String name, List<Long> tokens);
    }
}
