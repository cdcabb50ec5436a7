package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rows of the runs of tasks. Every method is one statement. Call it in a transaction on the primary; {@link
 * LockStore#inTransaction} opens one.
 *
 * <p>A run is lost if its status is {@link LockRun.Status#RUNNING} but its grant no longer stands. A grant ends by a release, a
 * takeover, or the end of its lease or node. It never stands again.
 */
public interface RunRows {

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
