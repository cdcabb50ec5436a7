package io.github.holdfast.election;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import jakarta.persistence.EntityManager;
import java.time.Duration;

/** One term of a leader. Its end is final. Any thread may use it. */
public interface Leadership {

    /** Returns the name of the election. */
    String name();

    /**
     * Returns the term: the fencing token of the lock. Each leader of an election has a greater term than all previous leaders. A
     * resource that remembers the greatest term it has seen can refuse a late leader.
     */
    long term();

    /** Returns whether this leadership has ended. As long as it returns false, no other candidate is the leader. It costs no statement. */
    boolean isOver();

    /** Returns how much longer no other candidate can become the leader, if no heartbeat succeeds; zero if this leadership has ended. */
    Duration remaining();

    /**
     * Ensures that no other candidate can become the leader for this long. If too little is left, it sends a heartbeat, which is one
     * statement. Call it before each effect outside the database.
     *
     * @param duration zero to {@link LockRequest#LONGEST_DURATION}, and less than the {@linkplain
     *     io.github.holdfast.service.LockServiceBuilder#nodeLease lease of the node}
     * @throws IllegalArgumentException if it is out of that range
     * @throws IllegalStateException if this node has given up the leadership
     * @throws LockLostException if the leadership is lost, or lasts for less than this duration even after the heartbeat
     * @throws LockStoreException if the database failed
     */
    void ensureValidFor(Duration duration);

    /**
     * Checks in the calling thread's transaction that this node still holds the lock of the election, and locks its row. No other
     * candidate can become the leader before the transaction ends. One statement.
     *
     * <p>Transactions of the thread that runs the callbacks are checked before their commit in any case. Call this method in
     * transactions of other threads.
     *
     * @throws IllegalStateException if the lock was released, or the calling thread is not in a read-write transaction of the
     *     service's {@linkplain io.github.holdfast.service.LockServiceBuilder#transactionManager transaction manager}
     * @throws LockLostException if the leadership is lost; roll back
     * @throws LockStoreException if the database failed; roll back
     */
    void guard();

    /**
     * Checks like {@link #guard()}, in the transaction of this entity manager. Call it as the last step before the commit.
     *
     * @param entityManager an entity manager with an active transaction, of the service's persistence unit
     * @throws IllegalStateException if the lock was released, or the entity manager has no active transaction, or belongs to another
     *     persistence unit
     * @throws LockLostException if the leadership is lost; roll back
     * @throws LockStoreException if the database failed; roll back
     */
    void guard(EntityManager entityManager);
}
