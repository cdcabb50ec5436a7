package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LateCommits.Fate;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import org.springframework.dao.DataAccessException;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** One point at which a connection breaks, and what must be so after that, whatever was done. */
final class Crash {

    private final CrashPoints points;
    private final String name;
    private final int step;
    private final Fault fault;
    private final Fate fate;
    private final List<LockHandle> handles = new ArrayList<>();
    private final Map<String, Long> tokens = new HashMap<>();
    private boolean isReached;

    /** @param fate what becomes of a commit that arrives late */
    Crash(CrashPoints points, String name, int step, Fault fault, Fate fate) {
        this.points = points;
        this.name = name;
        this.step = step;
        this.fault = fault;
        this.fate = fate;
    }

    /** Something that may fail. */
    interface Work {
        void run() throws Exception;
    }

    /** Something that may fail, with this. */
    interface Use<T> {
        void of(T used) throws Exception;
    }

    /** A name that no other point has. */
    String name() {
        return name;
    }

    /** For a lock that is free in the end, however it was acquired. */
    LockRequest request(String suffix) {
        tokens.putIfAbsent(name + suffix, 0L);
        return LockRequest.of(name + suffix);
    }

    LockRequest request() {
        return request("");
    }

    /** Somebody had this token already. */
    void had(String lockName, long token) {
        tokens.merge(lockName, token, Math::max);
    }

    /** Has the handle released in the end, unless it is before; it must not be lost. */
    LockHandle keep(LockHandle lock) {
        handles.add(lock);
        had(lock.name(), lock.fencingToken());
        return lock;
    }

    List<LockHandle> kept() {
        return List.copyOf(handles);
    }

    /** Does it while a connection breaks; returns empty if it failed because of that. */
    <T> Optional<T> during(Callable<T> call) throws Exception {
        return during(call, LockStoreException.class::isInstance);
    }

    private <T> Optional<T> during(Callable<T> call, Predicate<Exception> isExpected) throws Exception {
        List<?> before = context();
        points.connections.note();
        points.faults.arm(step, fault);
        try {
            return Optional.of(fault == Fault.DELAYED ? points.lateCommits.settling(fate, call) : call.call());
        } catch (Exception failed) {
            if (!points.faults.fired() || !isExpected.test(failed)) {
                throw failed;
            }
            return Optional.empty();
        } finally {
            isReached = points.faults.fired();
            points.faults.disarm();
            points.connections.noteNoMore();
            assertThat(context()).as("what is bound to the thread").isEqualTo(before);
        }
    }

    /** As {@link #during}; returns whether it was done. */
    boolean isDone(Work work) throws Exception {
        return during(() -> {
                    work.run();
                    return true;
                })
                .isPresent();
    }

    private static List<?> context() {
        return List.of(
                TransactionSynchronizationManager.getResourceMap(),
                TransactionSynchronizationManager.isActualTransactionActive(),
                TransactionSynchronizationManager.isSynchronizationActive(),
                Optional.ofNullable(TransactionSynchronizationManager.getCurrentTransactionIsolationLevel()),
                TransactionSynchronizationManager.isCurrentTransactionReadOnly(),
                Thread.currentThread().isInterrupted());
    }

    /** As {@link #isDone}, for something that ends a transaction, whose failure has other names too. */
    boolean isEnded(Runnable wholeTransaction) throws Exception {
        return during(
                        () -> {
                            wholeTransaction.run();
                            return true;
                        },
                        failed -> failed instanceof HoldfastException
                                || failed instanceof DataAccessException
                                || failed instanceof TransactionException
                                || failed instanceof PersistenceException)
                .isPresent();
    }

    /**
     * As {@link #isEnded}, for a transaction that commits {@linkplain #write what was written}. What was acknowledged is there, and
     * what failed before its commit was sent is not.
     *
     * @return whether it was acknowledged
     */
    boolean isCommitted(Runnable wholeTransaction) throws Exception {
        boolean isAcknowledged = isEnded(wholeTransaction);
        boolean mayBeThere = isAcknowledged || (points.faults.firedAtCommit() && fault != Fault.BEFORE_SEND);
        assertThat(isThere()).as("is there: must, may").isIn(isAcknowledged, mayBeThere);
        return isAcknowledged;
    }

    /** As {@link #isCommitted}, for a transaction in which this is done, and then written. */
    boolean isCommittedAfter(Work work) throws Exception {
        return isCommitted(() -> points.transaction.executeWithoutResult(status -> {
            try {
                work.run();
            } catch (RuntimeException thrown) {
                throw thrown;
            } catch (Exception thrown) {
                throw new AssertionError(thrown);
            }
            write(points.em());
        }));
    }

    /** What is there when the transaction of this entity manager has committed. */
    void write(EntityManager em) {
        em.createNativeQuery("insert into crash_commit (name) values ('" + name + "')")
                .executeUpdate();
    }

    /** Whether the transaction has committed. */
    boolean isThere() {
        return points.database.queryForLong("select count(*) from crash_commit where name = '" + name + "'") == 1;
    }

    /** Nobody else has the lock that the API says is held, and the row is the holder's. */
    void assertHeld(LockHandle lock) {
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(points.theirs.tryAcquire(LockRequest.of(lock.name()).lease(CrashPoints.LONG)))
                .isEmpty();
        LockInfo info = points.theirs.find(lock.name()).orElseThrow();
        assertThat(info.owner()).isEqualTo(lock.owner());
        assertThat(info.fencingToken()).isEqualTo(lock.fencingToken());
        assertThat(info.holdCount()).as("count").isGreaterThanOrEqualTo(lock.holdCount());
    }

    /** Releases what was kept; nothing of it may be lost. */
    void release() {
        for (int last = handles.size() - 1; last >= 0; last--) {
            assertThat(handles.get(last).release()).isNotEqualTo(ReleaseOutcome.LOST);
        }
    }

    /**
     * Releases what was kept, and looks whether anything is left.
     *
     * @return whether the point was reached
     */
    boolean end() throws Exception {
        release();
        for (String lockName : tokens.keySet()) {
            assertFree(lockName);
        }
        // What goes on in the background, as a reconciliation does, takes one now and then; a leak would never end.
        await("no connection in use")
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(10))
                .atMost(CrashPoints.SOON)
                .until(() -> points.connections.inUse() == 0
                        && points.pool.getHikariPoolMXBean().getActiveConnections() == 0);
        assertThat(points.connections.changes()).as("connections changed").isEmpty();
        assertThat(points.mine.admin().waiters()).isEmpty();
        if (fault == Fault.AFTER_SEND) {
            // The next point begins with connections that nothing has happened to.
            points.pool.getHikariPoolMXBean().softEvictConnections();
        }
        return isReached;
    }

    /** Another service is granted the lock soon, and then the first one, by the same thread: no hold is left to be re-entered. */
    private void assertFree(String lockName) throws Exception {
        LockRequest request = LockRequest.of(lockName).lease(CrashPoints.LONG).waitAtMost(CrashPoints.SOON);
        for (LockService next : List.of(points.theirs, points.mine)) {
            try (LockHandle lock = next.acquire(request)) {
                assertThat(lock.fencingToken()).as("token").isGreaterThan(tokens.getOrDefault(lockName, 0L));
                assertThat(lock.holdCount()).isEqualTo(1);
                assertThat(handles).allMatch(former -> former.state() == LockState.RELEASED);
                had(lockName, lock.fencingToken());
            }
        }
    }
}
