package io.github.holdfast.election;

/**
 * Starts and stops the work of the leader: the election calls {@link #onGranted} when this node becomes the leader, and {@link
 * #onRevoked} when it no longer is.
 *
 * <p>The thread of the election calls both methods, one after the other. There is one exception: if {@link #onGranted} does not return
 * within a second after the end of the leadership, another thread calls {@link #onRevoked} while it still runs.
 *
 * <p>A transaction that the thread of the election begins in a callback commits only while this node holds the lock of the election.
 */
public interface LeaderCallbacks {

    /**
     * This node is the leader. The method may start the leader's work and return, or do the work itself. If the leadership ends while
     * the method runs, its thread is interrupted.
     *
     * @param leadership says how long the leadership lasts
     * @throws Exception if the node cannot lead. It then resigns, the election logs the exception, and the node is a candidate again
     *     after {@link ElectionRequest#retryAfterEnd}
     */
    void onGranted(Leadership leadership) throws Exception;

    /**
     * This node is no longer the leader. The election calls this method exactly once for each call of {@link #onGranted}, and before
     * the next one. Stop the leader's work here, and return when it has stopped.
     *
     * <p>After a resignation, the election keeps the lock until this method and {@link #onGranted} have returned. So no other candidate
     * leads before that. After a loss, another node may already lead. The election logs an exception.
     *
     * @param leadership the leadership that has ended
     * @param cause why it has ended
     */
    void onRevoked(Leadership leadership, RevocationCause cause);
}
