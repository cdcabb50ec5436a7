package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LateCommits.Fate;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManager;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * The connection breaks in a caller's transaction under a lock: what is acknowledged is there, what failed before its commit was
 * sent is not, and the lock is free after it.
 */
@Tag("crash-point")
@OnEachDatabase
class TransactionCrashPointTest extends CrashPoints {

    @ParameterizedTest
    @EnumSource
    void aTransactionCommitsUnderALock(Kept kept) {
        atEachStep(3, crash -> {
            LockHandle lock = crash.keep(mine.acquire(kept.of(crash.request(), LONG)));
            assertThat(lock.isFenced()).isTrue();
            crash.isCommittedAfter(() -> {});
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        });
    }

    @ParameterizedTest
    @EnumSource
    @Breaks("LockHandle.guard()")
    void aTransactionIsGuardedBeforeItsEnd(Kept kept) {
        atEachStep(4, crash -> {
            LockHandle lock = crash.keep(mine.acquire(kept.of(crash.request(), LONG)));
            crash.isCommittedAfter(lock::guard);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        });
    }

    @Test
    @Breaks("LockHandle.guard(EntityManager)")
    void aTransactionIsGuardedThatNoManagerHasBegun() {
        atEachStep(3, crash -> {
            LockHandle lock = crash.keep(mine.acquire(crash.request()));
            crash.isCommitted(() -> {
                try (EntityManager em = unit.createEntityManager()) {
                    em.getTransaction().begin();
                    crash.write(em);
                    lock.guard(em);
                    em.getTransaction().commit();
                }
            });
        });
    }

    @ParameterizedTest
    @EnumSource
    void aTransactionUnderALostLockDoesNotCommit(Kept kept) {
        atEachStep(2, crash -> {
            LockHandle lock = mine.acquire(kept.of(crash.request(), LONG));
            crash.had(crash.name(), lock.fencingToken());
            crash.isEnded(() -> {
                try {
                    transaction.executeWithoutResult(status -> {
                        database.execute("update distributed_lock set owner = 'thief', node_id = null,"
                                + " fencing_token = fencing_token + 1, version = version + 1 where name = '"
                                + crash.name()
                                + "'");
                        crash.write(em());
                    });
                } catch (LockLostException withoutAFault) {
                    assertThat(withoutAFault.lockName()).contains(crash.name());
                }
            });
            assertThat(crash.isThere()).isFalse();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
            database.execute(
                    "update distributed_lock set owner = null, hold_count = 0 where name = '" + crash.name() + "'");
        });
    }

    /** Acquires the lock in a transaction, after its first read, and releases it before its end; after that it is free. */
    private void lockIn(
            TransactionTemplate template,
            Runnable firstRead,
            LockRequest request,
            Crash crash,
            Consumer<TransactionStatus> work) {
        List<ReleaseOutcome> released = new ArrayList<>();
        try {
            template.executeWithoutResult(status -> {
                firstRead.run();
                LockHandle lock = mine.acquireUninterruptibly(request);
                crash.had(crash.name(), lock.fencingToken());
                try {
                    work.accept(status);
                } finally {
                    released.add(lock.release());
                }
            });
        } finally {
            theirs.acquireUninterruptibly(crash.request().waitAtMost(SOON)).close();
            assertThat(released).isSubsetOf(ReleaseOutcome.DEFERRED);
        }
    }

    @ParameterizedTest
    @EnumSource
    void aLockThatIsReleasedInATransactionIsFreeAfterIt(Kept kept) {
        atEachStep(
                7,
                crash -> crash.isCommitted(() -> lockIn(
                        transaction, () -> {}, kept.of(crash.request(), LONG), crash, status -> crash.write(em()))));
    }

    @ParameterizedTest
    @EnumSource
    void aLockThatIsReleasedInATransactionIsFreeAfterItsRollback(Kept kept) {
        atEachStep(5, crash -> {
            crash.isEnded(() -> lockIn(transaction, () -> {}, kept.of(crash.request(), LONG), crash, status -> {
                crash.write(em());
                status.setRollbackOnly();
            }));
            assertThat(crash.isThere()).isFalse();
        });
    }

    /** On MySQL and MariaDB the transaction is asked whether it sees that the lock was free: one step more. */
    @Test
    void aLockIsAcquiredInATransactionThatHasReadBefore() {
        TransactionTemplate repeatable = new TransactionTemplate(manager);
        repeatable.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
        LockHandle keeper = mine.acquireUninterruptibly(LockRequest.of("keeper"));
        String nodeId = nodeOf(keeper);
        atEachStep(3, crash -> {
            mine.acquire(crash.request()).close();
            crash.isEnded(() -> {
                try {
                    lockIn(
                            repeatable,
                            () -> assertThat(em().find(LockNode.class, nodeId)).isNotNull(),
                            crash.request(),
                            crash,
                            TransactionStatus::setRollbackOnly);
                } catch (LockStoreException tooLate) {
                    // On H2 without a fault, too.
                }
            });
        });
        keeper.close();
    }

    /** The next transaction under the lock first finds out that the unanswered commit is over. */
    @ParameterizedTest
    @EnumSource
    void aTransactionBeginsAfterACommitWithoutAnAnswer(Kept kept) {
        atEachStep(4, crash -> {
            LockHandle lock = crash.keep(mine.acquire(kept.of(crash.request(), LONG)));
            Crash unanswered = new Crash(this, crash.name() + " unanswered", 3, Fault.ANSWER_LOST, Fate.LANDS_SOON);
            assertThat(unanswered.isCommittedAfter(() -> {})).isFalse();
            assertThat(unanswered.isThere()).isTrue();
            crash.isCommittedAfter(() -> {});
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        });
    }
}
