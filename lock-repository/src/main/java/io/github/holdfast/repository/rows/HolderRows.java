package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.Grant;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The rows of semaphores, and of the holders of permits and of shared locks. A semaphore has one row beside those of the locks, with
 * its limit. Each grant of permits, and each shared grant of a lock, has a row of its own.
 *
 * <p>Call the methods in a transaction on the primary; {@code LockStore.inTransaction} opens one. A grant writes the semaphore's
 * row first, so that the grants of one semaphore follow one another. A release and a renewal write only the holder's row.
 * A read locks nothing, except at SERIALIZABLE on MySQL and MariaDB. Thread-safe.
 */
public interface HolderRows {

    /**
     * How many versions a grant may be late. A grant does not depend on a particular version of the semaphore's row, but an
     * unanswered one must become impossible. So it matches this many versions from the one that was read.
     */
    long WINDOW = 1000;

    /**
     * A request for permits.
     *
     * @param name the name of the semaphore
     * @param owner generated for this acquisition
     * @param nodeId the node that keeps the hold alive; null for a lease
     * @param permits how many; at least 1
     * @param lease how long the grant lasts from the moment of the write; null if it lasts as long as the node
     * @param holder describes the holder for people; null if unknown
     */
    record Claim(
            String name,
            String owner,
            @Nullable String nodeId,
            int permits,
            @Nullable Duration lease,
            @Nullable String holder) {

        /** A request; truncates the description. */
        public Claim {
            if (permits < 1) {
                throw new IllegalArgumentException("Cannot claim " + permits + " permits of '" + name + "'");
            }
            if ((nodeId == null) == (lease == null)) {
                throw new IllegalArgumentException("A claim for '" + name + "' needs either a node or a lease");
            }
            holder = holder == null ? null : LockEntity.shortened(holder);
        }
    }

    /**
     * A holder as one statement saw it.
     *
     * @param holder the holder's row
     * @param node the node that the row refers to; null if there is none
     * @param dbNow the database's clock in that statement
     */
    record HolderSnapshot(LockHolder holder, @Nullable LockNode node, Instant dbNow) {

        /**
         * Returns the state of the holder.
         *
         * @param tolerance how long a lease must be over
         */
        public LockHolder.State state(Duration tolerance) {
            return holder.state(node, dbNow, tolerance);
        }

        /**
         * Returns the state of the holder, where the caller judges whether its node is dead.
         *
         * @param isDead whether a node that has not been ended must be ended before the row is deleted
         */
        public LockHolder.State state(Duration tolerance, Predicate<LockNode> isDead) {
            return holder.state(node, dbNow, tolerance, isDead);
        }

        /** Whether the holder has what was granted: it is not dead, and lost nothing by force. */
        public boolean isHeld() {
            return !holder.isForced() && state(Duration.ZERO) != LockHolder.State.DEAD;
        }

        /** Returns the grant that the row shows. */
        public Grant grant() {
            return Grant.of(holder);
        }

        /**
         * Returns the remaining time of the hold at {@link #dbNow}: until the end of its lease, or of its node's lease. Zero if
         * that lease has expired.
         */
        public Duration timeUntilOver() {
            return RemainingTime.of(holder.expiresAt(), node, dbNow);
        }
    }

    /**
     * A semaphore as one statement saw it.
     *
     * @param version the version of its row
     * @param limit how many permits it has
     * @param used how many permits are granted, to holders alive and dead
     * @param firstLeaseEnd when the first lease of a holder ends, or ended; null if no holder has a lease
     * @param dbNow the database's clock in that statement
     */
    record Usage(
            long version, int limit, long used, @Nullable Instant firstLeaseEnd, Instant dbNow) {

        /**
         * Returns the time until the first holder may have died; null if no holder has a lease.
         *
         * @param tolerance how long a lease must be over
         */
        public @Nullable Duration timeUntilLeaseEnds(Duration tolerance) {
            if (firstLeaseEnd == null) {
                return null;
            }
            Duration left = Duration.between(dbNow, firstLeaseEnd).plus(tolerance);
            return left.isNegative() ? Duration.ZERO : left;
        }
    }

    /**
     * A semaphore.
     *
     * @param limit how many permits it has
     * @param used how many permits are granted, to holders alive and dead
     */
    record Semaphore(String name, int limit, long used) {}

    /**
     * A change of a limit.
     *
     * @param id the id of its record in the audit log
     * @param name the name of the semaphore
     * @param limit how many permits it will have; 0 or more
     * @param doneBy describes the caller, for people
     */
    record LimitChange(String id, String name, int limit, String doneBy, String reason) {}

    /**
     * Creates the row of a semaphore. Does nothing if the name has a row, be it that of a lock. One statement.
     *
     * @param limit how many permits it has; 0 or more
     */
    void createIfMissing(String name, int limit);

    /**
     * Reads how many permits are granted. One statement.
     *
     * @return empty if the name has no row, or if it is the name of a lock
     */
    Optional<Usage> usage(String name);

    /** Reads the holders of a semaphore or a shared lock, alive and dead, in the order of their grants. One statement. */
    List<HolderSnapshot> holders(String name);

    /**
     * Reads the shared holders of a lock, alive and dead. One statement, which also compares the version of the lock's row: on a cluster,
     * another server may not have the holders yet that the row has shown.
     *
     * @return empty if the row has another version
     */
    Optional<List<HolderSnapshot>> sharing(String name, long version);

    /** Reads the holder with this owner. One statement. */
    Optional<HolderSnapshot> holder(String name, String owner);

    /** Reads the holder of the grant with this token. One statement. */
    Optional<HolderSnapshot> holder(String name, long fencingToken);

    /**
     * Reads the holders of several names that have what was granted: they are not dead, and lost nothing by force. In the order of
     * their names and grants. One statement.
     *
     * @param names at least one
     */
    List<HolderSnapshot> living(Collection<String> names, int limit);

    /**
     * Reads the holders through a node, of all semaphores, in the order of their names and grants. One statement.
     *
     * @param after the last name of the page before; empty for the first page
     * @param afterToken the last token of the page before
     */
    List<LockHolder> heldThrough(String nodeId, String after, long afterToken, int limit);

    /**
     * Reads the holders of all semaphores whose lease has expired, or whose node has left them or is absent, in the order of their names
     * and grants. One statement.
     *
     * @param tolerance how long a lease must be over
     * @param after the last name of the page before; empty for the first page
     * @param afterToken the last token of the page before
     */
    List<LockHolder> dead(Duration tolerance, String after, long afterToken, int limit);

    /**
     * Grants permits if that many are left. Counts the permits of dead holders too. Three statements; two if it grants nothing. It
     * waits for another grant of the same semaphore. Call it in a transaction that has read nothing yet: at REPEATABLE READ, a
     * transaction sees what was committed before its first read, and another grant could be missing there.
     *
     * @param version the version of the semaphore's row that the decision was based on
     * @return empty if too few permits are left, the row has moved on by {@link #WINDOW}, the name is not that of a semaphore, or
     *     the node is ended or absent
     */
    Optional<Grant> grant(Claim claim, long version);

    /**
     * Grants a lock to a shared holder, if it is free or shared, available, and not {@linkplain #reserve wanted}. Three statements; one or
     * two if it grants nothing, and then the row may count as shared without a holder. It waits for another grant of the same lock, and
     * for a transaction that protects the lock.
     *
     * @param claim with one permit
     * @param version the version of the lock's row that the decision was based on
     * @return empty if the lock cannot be granted, the row has moved on by {@link #WINDOW}, or the node is ended or absent
     */
    Optional<Grant> share(Claim claim, long version);

    /**
     * Changes the exclusive hold of a lock to a share of it. No other owner gets the lock exclusively in between. Two statements; one if it
     * changes nothing. It waits for a transaction that protects the lock.
     *
     * @param held the lock's row as its exclusive holder last wrote it
     * @param claim of the same name, with one permit, and through a node if the holder has one
     * @return empty if the row has changed, its lease has expired, or the node is ended or absent
     */
    Optional<Grant> downgrade(LockEntity held, Claim claim);

    /**
     * Keeps new shared holders out of a lock for some time, because an owner waits for it exclusively. Does nothing if it is not shared.
     * One statement.
     */
    void reserve(String name, Duration time);

    /** Ends what {@link #reserve} has begun. One statement. */
    void cancelReservation(String name);

    /**
     * Makes a pending grant impossible that was based on this version, or on an earlier one. One statement.
     *
     * @return false if no such grant was possible any more
     */
    boolean supersede(String name, long version);

    /**
     * Gives the permits back. One statement. It waits for a transaction that protects the holder's row.
     *
     * @return false if the permits are no longer those of this grant
     */
    boolean release(Grant grant);

    /**
     * Renews the lease of a holder, unless it has expired. It lasts at least {@code lease} from the moment of the write, and never
     * becomes shorter. One statement. If that waits for the row, the lease may count from before the wait.
     *
     * @return false if the permits are no longer those of this grant, or its lease has expired
     */
    boolean extend(Grant grant, Duration lease);

    /**
     * Writes the row of a holder, but changes nothing that it says about the hold. One statement. It waits for a transaction that protects the row.
     *
     * @return false if the permits are no longer those of this grant
     */
    boolean touch(Grant grant);

    /**
     * Deletes the row of a dead holder. A renewal may have come in between, so a lease is compared again. One statement.
     *
     * @param dead a holder whose lease has expired, or whose node was ended
     * @param tolerance how long the lease must be over
     * @return false if the holder has released or renewed, or another service was faster
     */
    boolean removeDead(LockHolder dead, Duration tolerance);

    /**
     * Reads the semaphores, in the order of their names. One statement.
     *
     * @param after the last name of the page before; empty for the first page
     */
    List<Semaphore> page(String after, int limit);

    /**
     * Reads the holders of several semaphores, alive and dead, in the order of their names and grants. One statement.
     *
     * @param names at least one; those that are no semaphores have no such holders
     */
    List<HolderSnapshot> holders(Collection<String> names, int limit);

    /**
     * Changes the limit, and records that. Takes no permits from their holders. Three statements.
     *
     * @param version the version of the semaphore's row that the decision was based on
     * @return false if the row has changed since
     */
    boolean setLimit(LimitChange change, long version);

    /** Whether this change of a limit is recorded. One statement. */
    boolean isRecorded(LimitChange change);

    /**
     * Takes the permits or the share of a lock from their holder, and records that. They still count until the holder must have
     * noticed: until the end of its lease, or for {@code notices} from now. Two statements.
     *
     * @param notices the longest time until a holder without a lease notices
     * @return false if the permits are no longer those of this grant
     */
    boolean takeFromHolder(LockHolder holder, Duration notices, String doneBy, String reason);

    /** Whether the audit log contains a forced release of this grant. One statement. */
    boolean wasForced(Grant grant);
}
