package io.github.holdfast.repository.wakeup;

import io.github.holdfast.repository.StoreException;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The channel through which a release wakes the waiters on other nodes. A notification without a receiver is lost.
 * Thread-safe.
 */
public interface WakeUpChannel {

    /** Returns the number by which others wake this service; null while it polls. Each connection has a new one. */
    @Nullable
    Long bell();

    /**
     * Wakes the service that has waited longest for a lock, no matter whether the lock is free. Two statements at most.
     *
     * @throws StoreException if the database failed
     */
    void wakeNext(String name);

    /**
     * Notifies the service of a node that this one requests a lock which that one may keep. Two statements at most; one if that service
     * does not listen.
     *
     * @param nodeId the node that the row of the lock shows
     * @throws StoreException if the database failed
     */
    void recall(String name, String nodeId);

    /** Receives notifications on the {@linkplain #listen listening} thread. */
    interface Receiver {

        /** Whether to keep listening; called every few seconds, and after {@link #stopListening}. */
        boolean isOpen();

        /**
         * Called when listening has begun. From now on, no notification is lost while the connection lives. Only on MySQL and MariaDB,
         * one is lost that arrives between two sleeps; {@link #stillFree} makes up for most of these.
         */
        void ready();

        /** Called for each lock that this service may now acquire. It is only a hint, which any session can send. */
        void lockReleased(String lockName);

        /**
         * Called when a release has woken this service without saying which lock is free.
         *
         * @param free reads the names of those locks that this service waits for and no owner holds; one statement
         */
        void woken(Supplier<List<String>> free);

        /**
         * Called a moment after {@link #ready} and {@link #woken}, unless the service was woken again before that, and about once a
         * minute: a release may have woken it without effect meanwhile.
         *
         * @param lockNames the locks that this service waits for and no owner holds
         */
        default void stillFree(List<String> lockNames) {
            lockNames.forEach(this::lockReleased);
        }

        /** Called for each lock of which a release has found that another service waits for it. */
        void awaitedElsewhere(String lockName);
    }

    /**
     * Listens on one connection until the receiver is closed. First it wakes itself through another connection, to prove
     * that wake-ups arrive. On MySQL and MariaDB, the connection is closed afterwards, and not given back to its pool.
     *
     * @throws StoreException if there is no connection, it broke, or no wake-up arrives, as with a pooler that changes
     *     sessions between transactions; the receiver may have missed wake-ups
     */
    void listen(Receiver receiver);

    /** Makes {@link #listen} ask its receiver whether to keep listening. A thread that is about to connect does not notice. */
    void stopListening();

    /** Ends {@link #listen} although {@link #stopListening} did not, as on a broken network. */
    default void abortListening() {}
}
