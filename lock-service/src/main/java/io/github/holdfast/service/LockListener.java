package io.github.holdfast.service;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Is told what happens to the locks of one service, for metrics and logs. What it throws is logged and changes nothing.
 *
 * <p>{@link #suspect}, {@link #lost} and {@link #beaten} are called by a thread of the service, one at a time, and all
 * others by the thread that does it: be quick. Nested acquisitions and their
 * releases are not told. A row lock has no grant: the token that is told of it is that of the last one, and nobody is told
 * when it is lost.
 */
public interface LockListener {

    /**
     * An acquisition begins. What is told of it follows on the same thread, at last {@link #acquisitionEnded}: between the two, the
     * listener may have something in force on the thread, such as the span of a trace.
     *
     * @param request what is to be acquired
     */
    default void acquiring(LockRequest request) {}

    /**
     * An acquisition ended, after {@link #acquired}, {@link #refused} or {@link #failed} was told; or after none of them, if a task
     * was not due, or what was asked for is not possible.
     *
     * @param request the same as when it began
     */
    default void acquisitionEnded(LockRequest request) {}

    /**
     * A lock was granted.
     *
     * @param lockName what is locked
     * @param fencingToken the token of the grant
     * @param waited how long it took
     */
    default void acquired(String lockName, long fencingToken, Duration waited) {}

    /**
     * A lock was not granted, because somebody else holds it or it is not available.
     *
     * @param lockName what was to be locked
     * @param waited how long it was tried
     */
    default void refused(String lockName, Duration waited) {}

    /**
     * An acquisition ended without an answer to whether the lock can be had: the database failed, the lease was over before
     * the database had answered, or the thread was interrupted.
     *
     * @param lockName what was to be locked
     * @param waited how long it was tried
     * @param cause what is thrown for it
     */
    default void failed(String lockName, Duration waited, Exception cause) {}

    /**
     * Somebody was faster: a lock that was seen free was not granted, and is asked for again. Not told to those who ask for a row
     * lock.
     *
     * @param lockName what is to be locked
     */
    default void overtaken(String lockName) {}

    /**
     * A lock was given back by its last handle.
     *
     * @param lockName what was locked
     * @param fencingToken the token of the grant
     * @param held how long it was held
     * @param outcome what became of it
     */
    default void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {}

    /**
     * A lock was to be given back by its last handle, but a transaction that ran under it is unfinished. When all of them
     * have ended, {@link #released} is told by a thread of the service.
     *
     * @param lockName what is locked
     * @param fencingToken the token of the grant
     */
    default void deferred(String lockName, long fencingToken) {}

    /**
     * A transaction was not committed, because a lock that it ran under no longer stood or could not be checked.
     *
     * @param lockName what was locked
     */
    default void commitRefused(String lockName) {}

    /**
     * The database has confirmed a heartbeat.
     *
     * @param took from sending it to the answer
     */
    default void beaten(Duration took) {}

    /**
     * The heartbeat that keeps a lock is overdue; the lock is still held.
     *
     * @param lockName what is locked
     * @param fencingToken the token of the grant
     */
    default void suspect(String lockName, long fencingToken) {}

    /**
     * A lock was lost.
     *
     * @param loss which, and why
     */
    default void lost(LockLost loss) {}

    /**
     * A lock was granted that a dead or expired holder had left.
     *
     * @param lockName what is locked
     * @param fencingToken the token of the new grant
     * @param formerHolder who left it, for people; null if that is not known
     */
    default void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {}
}
