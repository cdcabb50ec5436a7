package io.github.holdfast.service.engine.row;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.runtime.Deadline;
import java.time.Duration;
import java.util.Optional;
import java.util.function.IntUnaryOperator;

/**
 * The row that shows a grant, and the writes that prolong or end it. A lock has its holder in its own row. One thread at a time may
 * write; any thread may read.
 */
public interface HoldRow {

    /** How long a renewal or release is retried while the database does not answer. */
    Duration WRITE_LIMIT = Duration.ofSeconds(3);

    /** The time limit of a read. */
    Duration READ_LIMIT = Duration.ofSeconds(3);

    /** The name of what was granted. */
    String name();

    /** The owner that the grant was made to. */
    String owner();

    /** How many nested acquisitions the row counts, as it was last written. */
    int holdCount();

    /** Whether the last write has ended the grant. */
    boolean isReleased();

    /**
     * Releases one hold.
     *
     * @param left how many holds the owner still has in this process; 0 ends the grant, unless other processes hold the lock under
     *     the same chosen owner
     * @return {@link ReleaseOutcome#LOST} if the row no longer shows this grant
     */
    ReleaseOutcome giveBack(int left);

    /**
     * Lets {@link InDoubtWrites} end the grant. This excludes a chosen owner: its hold may belong to another process, and ends with
     * the lease or the node.
     */
    void abandon();

    /**
     * Writes the row, but changes nothing that the hold depends on. If the row no longer shows this grant, another writer has already
     * written it.
     *
     * @throws StoreException if the database did not answer in time
     */
    void touch();

    /**
     * Writes the number of nested acquisitions of a hold through a node.
     *
     * @param count returns the new number for the present one
     * @return false if the row no longer shows this grant
     * @throws StoreException if the database did not answer in time
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    boolean recount(IntUnaryOperator count, Node node, Deadline deadline) throws InterruptedException;

    /**
     * Writes the number of nested acquisitions of a hold by a lease, and prolongs the lease.
     *
     * @param count returns the new number for the present one
     * @param atLeast how long the lease lasts at least, from the moment of the write
     * @param sending called before each statement that may prolong the lease
     * @return false if the row no longer shows this grant, or its lease has expired
     * @throws StoreException if the database did not answer in time
     * @throws InterruptedException if the deadline is interruptible and the thread was interrupted
     */
    boolean extend(IntUnaryOperator count, Duration atLeast, Runnable sending, Deadline deadline)
            throws InterruptedException;

    /**
     * Asks the database how long the grant lasts without a renewal; zero if it has expired.
     *
     * @return empty if the row no longer shows this grant
     * @throws StoreException if the database failed
     */
    Optional<Duration> left();

    /**
     * Asks the database why the row no longer shows this grant.
     *
     * @return empty if the row still shows it
     * @throws StoreException if the database failed
     */
    Optional<LossCause> lossCause();
}
