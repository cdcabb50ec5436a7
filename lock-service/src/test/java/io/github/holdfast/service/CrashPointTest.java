package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The connection breaks at each statement and each commit of each operation. Afterwards either the caller holds the lock,
 * or it is free within its lease; and the count of a chosen owner is never too low.
 */
@Tag("crash-point")
@OnEachDatabase
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CrashPointTest {

    /** What a busy machine may add. */
    private static final Duration SLACK = ofSeconds(10);

    private static final Duration LEASE = ofSeconds(30);

    /** Far more than the thousandth by which a lease is taken to be shorter. */
    private static final Duration LATE = ofMillis(500);

    private Database database;
    private Services services;
    private FaultyDataSource faults;
    private EntityManagerFactory unit;
    private LockStore store;
    private LockService faulty;
    private LockService other;
    private int names;

    @BeforeAll
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        other = services.open();
        faults = new FaultyDataSource(database.dataSource());
        unit = services.unit(services.patientPoolOver(faults));
        store = LockStore.open(unit);
    }

    /** One of its own for each test: what the one before settles in the background would count as a step. */
    @BeforeEach
    void openFaulty() {
        faults.arm(Integer.MAX_VALUE, Fault.BEFORE_SEND);
        // A connection that listens has statements of its own, which would count as steps.
        faulty = settings(LockService.builder(unit))
                .withoutWakeUp()
                .store(() -> store)
                .build();
        awaitReady(faults);
    }

    /** For leaves with other settings. */
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder;
    }

    /** Until the service does nothing by itself. */
    void awaitReady(FaultyDataSource counting) {}

    @AfterEach
    void closeFaulty() {
        faults.disarm();
        faulty.close();
    }

    @AfterAll
    void close() throws Exception {
        services.close();
    }

    /** What is done while the connection breaks, after what was held before. */
    enum Operation {
        TRY_ACQUIRE(0, 3) {
            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) {
                return locks.tryAcquire(request);
            }
        },
        ACQUIRE(0, 3) {
            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) throws Exception {
                return Optional.of(locks.acquire(request.waitAtMost(CrashPoints.SOON)));
            }
        },
        ACQUIRE_AGAIN(0, 1) {
            @Override
            void prepare(LockService locks, LockRequest request) {
                locks.tryAcquire(request).orElseThrow().close();
            }

            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) {
                return locks.tryAcquire(request);
            }
        },
        REENTER(1, 1) {
            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) throws Exception {
                return Optional.of(locks.acquire(request.waitAtMost(CrashPoints.SOON)));
            }
        },
        RENEW(1, 1) {
            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) {
                held.get(0).renew(LEASE);
                return Optional.empty();
            }
        },
        RELEASE(1, 1) {
            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) {
                assertThat(held.remove(0).release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
                return Optional.empty();
            }
        },
        RELEASE_NESTED(2, 1) {
            @Override
            Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held) {
                assertThat(held.remove(0).release()).isIn(ReleaseOutcome.STILL_HELD, ReleaseOutcome.UNRESOLVED);
                return Optional.empty();
            }
        };

        private final int holdsBefore;
        private final int fewestSteps;

        Operation(int holdsBefore, int fewestSteps) {
            this.holdsBefore = holdsBefore;
            this.fewestSteps = fewestSteps;
        }

        void prepare(LockService locks, LockRequest request) {}

        abstract Optional<LockHandle> act(LockService locks, LockRequest request, List<LockHandle> held)
                throws Exception;
    }

    @ParameterizedTest
    @EnumSource(Operation.class)
    void anOwnerMadeForTheAcquisitionHoldsOrTheLockIsSoonFree(Operation operation) throws Exception {
        for (Fault fault : List.of(Fault.BEFORE_SEND, Fault.AFTER_SEND, Fault.ANSWER_LOST)) {
            int step = 1;
            while (crash(
                    operation, step, fault, LockRequest.of("crash " + ++names).lease(LEASE))) {
                step++;
            }
            assertThat(step).as("steps of " + operation).isGreaterThan(operation.fewestSteps);
        }
    }

    @ParameterizedTest
    @EnumSource(Operation.class)
    void aChosenOwnersCountIsNeverTooLow(Operation operation) throws Exception {
        for (Fault fault : List.of(Fault.BEFORE_SEND, Fault.AFTER_SEND, Fault.ANSWER_LOST)) {
            int step = 1;
            while (crash(
                    operation,
                    step,
                    fault,
                    LockRequest.of("shared " + ++names).lease(LEASE).owner("chosen"))) {
                step++;
            }
            assertThat(step).as("steps of " + operation).isGreaterThan(operation.fewestSteps);
        }
    }

    /** Returns whether the step was reached. */
    private boolean crash(Operation operation, int step, Fault fault, LockRequest request) throws Exception {
        String where = operation + ", " + fault + " at step " + step + ", " + request;
        List<LockHandle> held = new ArrayList<>();
        for (int hold = 0; hold < operation.holdsBefore; hold++) {
            held.add(faulty.tryAcquire(request).orElseThrow());
        }
        operation.prepare(faulty, request);
        long started = System.nanoTime();
        faults.arm(step, fault);
        try {
            operation.act(faulty, request, held).ifPresent(held::add);
        } catch (LockStoreException failed) {
            // Whether it is held is asked of the database below.
        }
        boolean fired = faults.fired();
        faults.disarm();
        checkHeld(request, held, where);
        for (LockHandle handle : held) {
            assertThat(handle.release()).as(where).isNotEqualTo(ReleaseOutcome.LOST);
        }
        endHoldOfNobody(request, where);
        other.acquire(request.owner("next").waitAtMost(LEASE.multipliedBy(2))).close();
        Duration took = Duration.ofNanos(System.nanoTime() - started);
        assertThat(took).as(where).isLessThan(LEASE.plus(SLACK));
        return fired;
    }

    /** A hold of a chosen owner that no handle knows of lasts for its lease, because others may have the same owner. */
    private void endHoldOfNobody(LockRequest request, String where) {
        if (request.owner().isEmpty()) {
            return;
        }
        other.find(request.name())
                .ifPresent(left -> assertThat(left.expiresIn()).as(where).isLessThanOrEqualTo(LEASE));
        database.execute("update distributed_lock set expires_at = acquired_at where owner = 'chosen' and name = '"
                + request.name() + "'");
    }

    private void checkHeld(LockRequest request, List<LockHandle> held, String where) {
        if (held.isEmpty()) {
            return;
        }
        assertThat(held).as(where).allMatch(handle -> handle.state() == LockState.HELD);
        assertThat(other.tryAcquire(request.owner("next"))).as(where).isEmpty();
        LockInfo info = other.find(request.name()).orElseThrow(() -> new AssertionError(where));
        assertThat(info.fencingToken()).as(where).isEqualTo(held.get(0).fencingToken());
        assertThat(info.owner()).as(where).isEqualTo(held.get(0).owner());
        assertThat(info.holdCount()).as(where).isGreaterThanOrEqualTo(held.size());
    }

    @Test
    void anAcquireThatLandsAfterItsCallerGaveUpDoesNotLeaveTheLockHeld() throws Exception {
        LockRequest request = LockRequest.of("late " + ++names).lease(ofSeconds(60));
        LockHandle before = other.tryAcquire(request).orElseThrow();
        before.close();
        faults.arm(2, Fault.DELAYED);
        assertThat(catchStoreFailure(() -> faulty.tryAcquire(request))).isNotNull();
        assertThat(faults.fired()).isTrue();
        faults.disarm();
        faults.land();
        try (LockHandle next = other.acquire(request.waitAtMost(ofSeconds(30)))) {
            assertThat(next.fencingToken()).as("the late grant had a token").isEqualTo(before.fencingToken() + 2);
        }
    }

    /** A failover may undo the first grant. Who has decided something on it must not find the same owner, token and version again. */
    @Test
    void aGrantAfterOneWithoutAnAnswerHasAGreaterTokenThanThatWouldHaveHad() throws Exception {
        LockRequest request = LockRequest.of("in doubt " + ++names).lease(ofSeconds(60));
        LockHandle before = other.tryAcquire(request).orElseThrow();
        before.close();
        faults.arm(2, Fault.DELAYED);
        FutureTask<LockHandle> acquisition = new FutureTask<>(() -> faulty.acquire(request.waitAtMost(ofSeconds(40))));
        new Thread(acquisition).start();
        await().atMost(ofSeconds(30))
                .ignoreExceptionsInstanceOf(IllegalStateException.class)
                .untilAsserted(faults::sink);
        try (LockHandle lock = acquisition.get(60, TimeUnit.SECONDS)) {
            assertThat(lock.fencingToken()).isGreaterThan(before.fencingToken() + 1);
        }
    }

    @Test
    void anAcquireThatNeverLandsIsMadeImpossible() throws Exception {
        LockRequest request = LockRequest.of("sunk " + ++names).lease(ofSeconds(60));
        other.tryAcquire(request).orElseThrow().close();
        faults.arm(2, Fault.DELAYED);
        assertThat(catchStoreFailure(() -> faulty.tryAcquire(request))).isNotNull();
        faults.disarm();
        faults.sink();
        other.acquire(request.waitAtMost(ofSeconds(30))).close();
    }

    @Test
    void aGrantWhoseAnswerIsLostIsAdoptedWithTheLeaseThatTheDatabaseHas() throws Exception {
        LockRequest request = LockRequest.of("adopted " + ++names).lease(ofSeconds(60));
        other.tryAcquire(request).orElseThrow().close();
        faults.arm(2, Fault.ANSWER_LOST);
        LockHandle lock = faulty.tryAcquire(request).orElseThrow();
        assertThat(faults.fired()).isTrue();
        LockInfo info = other.find(request.name()).orElseThrow();
        assertThat(info.holdCount()).isEqualTo(1);
        assertThat(lock.holdCount()).isEqualTo(1);
        assertThat(lock.remaining()).isLessThanOrEqualTo(ofSeconds(60));
        assertThat(lock.remaining()).isGreaterThan(ofSeconds(50));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(other.find(request.name())).isEmpty();
    }

    @Test
    void aReleaseThatLandsLateTouchesNobodyElse() throws Exception {
        LockRequest request = LockRequest.of("late release " + ++names).lease(ofSeconds(60));
        LockHandle lock = faulty.tryAcquire(request).orElseThrow();
        faults.arm(1, Fault.DELAYED);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertThat(faults.fired()).isTrue();
        faults.disarm();
        faults.land();
        try (LockHandle next = other.acquire(request.waitAtMost(ofSeconds(30)))) {
            assertThat(next.fencingToken()).isGreaterThan(lock.fencingToken());
            assertThat(next.state()).isEqualTo(LockState.HELD);
            next.renew(ofSeconds(60));
        }
    }

    /** The database counts the lease from when it granted it, and does not wait for the answer. */
    @Test
    void theTimeThatAnAnswerTakesIsNotAddedToTheLease(Database database) throws Exception {
        LateAnswer late = new LateAnswer(database.dataSource());
        LockRequest request = LockRequest.of("slow grant " + ++names).lease(ofSeconds(60));
        other.tryAcquire(request).orElseThrow().close();
        LockService slow = services.patientlyOpenOver(late.dataSource());
        LockHandle lock = answeredLate(late, () -> slow.tryAcquire(request).orElseThrow());
        assertThat(lock.remaining()).isLessThan(ofSeconds(60).minus(LATE));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void theTimeThatTheAnswerToARenewalTakesIsNotAddedToTheLease(Database database) throws Exception {
        LateAnswer late = new LateAnswer(database.dataSource());
        LockService slow = services.patientlyOpenOver(late.dataSource());
        LockHandle lock = slow.tryAcquire(
                        LockRequest.of("slow renewal " + ++names).lease(ofSeconds(30)))
                .orElseThrow();
        Duration left = answeredLate(late, () -> {
            lock.renew(ofSeconds(60));
            return lock.remaining();
        });
        assertThat(left).isBetween(ofSeconds(31), ofSeconds(60).minus(LATE));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    private static <T> T answeredLate(LateAnswer late, Callable<T> write) throws Exception {
        FutureTask<T> task = new FutureTask<>(() -> {
            late.choose();
            return write.call();
        });
        new Thread(task).start();
        late.awaitDone();
        long done = System.nanoTime();
        await().until(() -> System.nanoTime() - done > LATE.toNanos());
        late.answer();
        return task.get(60, TimeUnit.SECONDS);
    }

    private static LockStoreException catchStoreFailure(org.junit.jupiter.api.function.Executable work) {
        return org.junit.jupiter.api.Assertions.assertThrows(LockStoreException.class, work);
    }
}
