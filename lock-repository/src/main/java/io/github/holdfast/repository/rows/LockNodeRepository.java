package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.Modifying;
import org.springframework.data.jpa.repository.Query;
import org.springframework.data.repository.Repository;
import org.springframework.data.repository.query.Param;

/**
 * The rows of the nodes. Each running lock service is one node, and its heartbeat extends the lease in the row.
 *
 * <p>Every method is one statement. Call it in a transaction on the primary; {@code LockStore.inTransaction} opens one. A
 * write may read the clock before it waits for another transaction. The lease then ends earlier than necessary, never
 * later.
 */
public interface LockNodeRepository extends Repository<LockNode, String> {

    /**
     * A node as one statement saw it.
     *
     * @param node the node's row
     * @param dbNow the database's clock in that statement
     */
    record Snapshot(LockNode node, Instant dbNow) {

        /** Whether the node keeps its locks: no service has ended it, and its lease is not over. */
        public boolean isAlive() {
            return !node.isEnded() && node.expiresAt().isAfter(dbNow);
        }

        /** Returns the remaining time of the node's lease; zero if it has expired. */
        public Duration expiresIn() {
            return node.expiresAt().isAfter(dbNow) ? Duration.between(dbNow, node.expiresAt()) : Duration.ZERO;
        }
    }

    /**
     * What observers of a living node read.
     *
     * @param version the counter of its heartbeats
     * @param leaseMillis how long it lives without a heartbeat; 0 if the row does not say
     * @param dbNow the database's clock in that statement
     */
    record Pulse(String id, long version, long leaseMillis, Instant dbNow) {}

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
     * @param mode the code of what it requests; see {@link WaiterRows.WaitMode}
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

    /** Between two heartbeats, other writes change the version of a node's row by less than this. A heartbeat changes it by more. */
    long LEAST_STEP = 1 << 16;

    /** Returns a lease in microseconds, rounded up: the database must not end the node before the node itself does. */
    static long micros(Duration lease) {
        return Micros.of(lease);
    }

    /** Ends a node that has left its locks; the condition on its version follows. */
    String LEAVE = """
            update HoldfastNode n set n.ended = true, n.waitsUntil = n.startedAt, n.version = n.version + 1
            where n.id = :id and n.ended = false and
            """;

    /** Whether no other process beats through the node: the version is one of its service, perhaps after a few writes of others. */
    String MAY_BE_OWN = "(n.version - :version < " + LEAST_STEP + " or n.version >= :next and n.version - :next < "
            + LEAST_STEP + ")";

    /**
     * Reads a node and the database's clock.
     *
     * @return empty if the node has no row
     */
    @Query(
            "select new io.github.holdfast.repository.rows.LockNodeRepository$Snapshot(n, db_clock()) from HoldfastNode n where n.id = :id")
    Optional<Snapshot> read(@Param("id") String id);

    /**
     * Reads nodes, alive and dead, in the order of their ids.
     *
     * @param after the last id of the page before; the empty string for the first page
     */
    @Query("""
            select new io.github.holdfast.repository.rows.LockNodeRepository$Snapshot(n, db_clock())
            from HoldfastNode n where n.id > coalesce(:after, ' ') order by n.id fetch first :limit rows only
            """)
    List<Snapshot> page(@Param("after") String after, @Param("limit") int limit);

    /**
     * Registers a node, with version 0.
     *
     * @param id an id that no node has used before
     * @param lease how long the node lives without a heartbeat, from the moment of the write
     * @param description application, host and process, for people
     */
    default void register(String id, Duration lease, @Nullable String description) {
        insert(id, Micros.of(lease), lease.toMillis(), description);
    }

    /**
     * Ends a node whose lease has expired. If a heartbeat has the row locked, this call waits, and a successful heartbeat
     * wins.
     *
     * @param tolerance how long the lease must already be over
     * @return false if the node is alive again, its lease has not been over for that long, another node has ended it, or
     *     it is absent; then read the row again
     */
    default boolean endIfOverdue(String id, Duration tolerance) {
        return endOverdue(id, -Micros.of(tolerance)) == 1;
    }

    /**
     * Marks a node as waiting, because its threads wait for locks. Only then do the rows of its waiters count. The mark
     * leaves the version unchanged, so that a concurrent heartbeat still succeeds.
     *
     * @param lasts how long the mark lasts from the moment of the write
     * @param bell the number by which others wake the node; null if it polls
     * @return false if the node was ended, or is absent
     */
    default boolean markWaiting(String id, Duration lasts, @Nullable Long bell) {
        return waitFor(id, Micros.of(lasts), bell) == 1;
    }

    /**
     * Writes the bell of a node that does not wait. The version stays, so that a concurrent heartbeat still succeeds.
     *
     * @param bell the number by which others ask for locks that the node keeps
     * @return false if the node was ended, or is absent
     */
    default boolean markListening(String id, long bell) {
        // With useAffectedRows=true, the drivers of MySQL and MariaDB do not count a row that has this bell already.
        return listens(id, bell) == 1 || countListening(id, bell) == 1;
    }

    /** Reads the counters of all nodes that have not been ended. */
    @Query(
            "select new io.github.holdfast.repository.rows.LockNodeRepository$Pulse(n.id, n.version, n.leaseMillis, db_clock()) from HoldfastNode n where n.ended = false")
    List<Pulse> living();

    /**
     * Ends a node whose own service is closed, or has given it up, so that the locks held through it are free at once; {@link
     * LockNode#isStopped} then returns true. Does nothing if another node has already ended it, or a copy of the process beats through it.
     *
     * @param version the version after the last confirmed heartbeat
     * @param next what a heartbeat without an answer may have written; otherwise the same
     */
    @Modifying
    @Query(LEAVE + MAY_BE_OWN)
    int stop(@Param("id") String id, @Param("version") long version, @Param("next") long next);

    /**
     * Ends a node whose heartbeats have stopped: its version has not changed for a whole lease, by the clock of the service that calls
     * this. The locks held through it are free at once, whatever the clocks of the servers say.
     *
     * @param version what was observed
     * @return 0 if the node has beaten since, another node has ended it, or it is absent
     */
    @Modifying
    @Query(LEAVE + "n.version = :version")
    int endSilent(@Param("id") String id, @Param("version") long version);

    /**
     * Increments a node's version. The node's next heartbeat then fails its compare-and-set, and the node checks its
     * locks.
     */
    @Modifying
    @Query("update HoldfastNode n set n.version = n.version + 1 where n.id = :id and n.ended = false")
    int alert(@Param("id") String id);

    /** See {@link #register}. */
    @Modifying
    @Query("""
            insert into HoldfastNode (id, startedAt, expiresAt, ended, description, version, leaseMillis)
            values (:id, db_clock(), db_clock_plus(:leaseMicros), false, :description, 0, :leaseMillis)
            """)
    int insert(
            @Param("id") String id,
            @Param("leaseMicros") long leaseMicros,
            @Param("leaseMillis") long leaseMillis,
            @Param("description") @Nullable String description);

    /**
     * Extends a node's lease from the moment of the write, unless the node was ended. It does not compare the lease with the database's
     * clock, which may have been set: the service itself knows how long its node lives.
     *
     * @param next the version that the row gets. All other writes add one, so the beats of two processes that are copies of one
     *     image can be told apart by versions that each of them chose at random
     * @param leaseMicros how long the node lives without another heartbeat; see {@link #micros}
     * @return 0 if the node was ended, or its row has another version; then read the row again
     */
    @Modifying
    @Query("""
            update HoldfastNode n set n.expiresAt = db_clock_plus(:leaseMicros), n.version = :next
            where n.id = :id and n.version = :version and n.ended = false
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

    /** See {@link #markListening}. */
    @Modifying
    @Query("update HoldfastNode n set n.bell = :bell where n.id = :id and n.ended = false")
    int listens(@Param("id") String id, @Param("bell") long bell);

    /** See {@link #markListening}. */
    @Query("select count(n) from HoldfastNode n where n.id = :id and n.ended = false and n.bell = :bell")
    long countListening(@Param("id") String id, @Param("bell") long bell);

    /** See {@link #endIfOverdue}. */
    @Modifying
    @Query("""
            update HoldfastNode n set n.ended = true, n.version = n.version + 1
            where n.id = :id and n.ended = false and n.expiresAt <= db_clock_plus(:sinceMicros)
            """)
    int endOverdue(@Param("id") String id, @Param("sinceMicros") long sinceMicros);
}
