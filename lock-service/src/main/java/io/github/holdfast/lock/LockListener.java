package io.github.holdfast.lock;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Receives the lock events of one service, for metrics and logs. The service logs an exception from a listener; the exception
 * has no other effect.
 *
 * <p>A thread of the service calls {@link #suspect}, {@link #lost} and {@link #beaten}, one at a time. For all other events,
 * the thread that causes the event calls the method. Listeners must be quick. Nested acquisitions and their releases cause no
 * events. A row lock has no grant of its own. Its events carry the token of the last grant, and no event reports its loss.
 */
public interface LockListener {

    /**
     * An acquisition begins. Its other events follow on the same thread; {@link #acquisitionEnded} is the last. Until then, the
     * listener may keep something open on the thread, such as a tracing span.
     *
     * @param request the request of the acquisition
     */
    default void acquiring(LockRequest request) {}

    /**
     * An acquisition ended. This event follows {@link #acquired}, {@link #refused} or {@link #failed}. It follows none of them
     * if a task was not due, or if the request was invalid in this situation.
     *
     * @param request the request that {@link #acquiring} received
     */
    default void acquisitionEnded(LockRequest request) {}

    /**
     * A lock was granted.
     *
     * @param lockName the name of the lock
     * @param fencingToken the token of the grant
     * @param waited how long the acquisition took
     */
    default void acquired(String lockName, long fencingToken, Duration waited) {}

    /**
     * An acquisition ended without the lock, because another owner holds it or it is not available.
     *
     * @param lockName the name of the lock
     * @param waited how long the acquisition took
     */
    default void refused(String lockName, Duration waited) {}

    /**
     * An acquisition ended with an exception: the database failed, the lease ended before the database answered, or the thread
     * was interrupted.
     *
     * @param lockName the name of the lock
     * @param waited how long the acquisition took
     * @param cause the exception that the acquisition throws
     */
    default void failed(String lockName, Duration waited, Exception cause) {}

    /**
     * An acquisition lost a race: it found the lock free, but another owner got it first. The acquisition tries again. Not
     * called for row lock requests.
     *
     * @param lockName the name of the lock
     */
    default void overtaken(String lockName) {}

    /**
     * The last handle of a lock was released.
     *
     * @param lockName the name of the lock
     * @param fencingToken the token of the grant
     * @param held how long it was held
     * @param outcome the outcome of the release
     */
    default void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {}

    /**
     * The release of the last handle is deferred, because a transaction that ran under the lock is unfinished. When all such
     * transactions have ended, a thread of the service calls {@link #released}.
     *
     * @param lockName the name of the lock
     * @param fencingToken the token of the grant
     */
    default void deferred(String lockName, long fencingToken) {}

    /**
     * The check before a commit failed, so the transaction does not commit. It ran under a lock that is lost, or that the
     * service could not check.
     *
     * @param lockName the name of the lock
     */
    default void commitRefused(String lockName) {}

    /**
     * The database confirmed a heartbeat.
     *
     * @param took the time from sending the heartbeat to the answer
     */
    default void beaten(Duration took) {}

    /**
     * A lock's heartbeat is overdue. The lock is still held.
     *
     * @param lockName the name of the lock
     * @param fencingToken the token of the grant
     */
    default void suspect(String lockName, long fencingToken) {}

    /**
     * A lock was lost.
     *
     * @param loss the lock and the cause
     */
    default void lost(LockLost loss) {}

    /**
     * An owner took a lock over from a dead or expired holder.
     *
     * @param lockName the name of the lock
     * @param fencingToken the token of the new grant
     * @param formerHolder a readable description of the previous holder; null if it is unknown
     */
    default void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {}
}
