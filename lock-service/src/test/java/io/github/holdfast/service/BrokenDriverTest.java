package io.github.holdfast.service;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.BrokenDriver.When;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Whatever a driver, a proxy or a full memory throws in a write of a lock's row, nobody has the lock for ever. */
@Tag("crash-point")
@OnEachDatabase
class BrokenDriverTest {

    /** So that neither the end of a lease nor a look of the node at its rows frees anything. */
    private static final Duration LONG = ofMinutes(5);

    private static final Duration SOON = ofSeconds(60);

    /** What JDBC does not allow. */
    enum Thrown implements Supplier<Throwable> {
        EXCEPTION {
            @Override
            public Throwable get() {
                return new IllegalStateException("Thrown by the test");
            }
        },
        STACK_OVERFLOW {
            @Override
            public Throwable get() {
                return new StackOverflowError("Thrown by the test");
            }
        },
        OUT_OF_MEMORY {
            @Override
            public Throwable get() {
                return new OutOfMemoryError("Thrown by the test");
            }
        }
    }

    /** How the lock is held. */
    enum Held {
        BY_LEASE {
            @Override
            LockRequest request() {
                return LockRequest.of("lock").lease(LONG);
            }
        },
        THROUGH_NODE {
            @Override
            LockRequest request() {
                return LockRequest.of("lock");
            }
        };

        abstract LockRequest request();
    }

    private final ExecutorService threads = Executors.newCachedThreadPool(Daemons.named("waiting"));
    private Services services;
    private BrokenDriver driver;
    private JpaTransactionManager manager;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        Services.emptyTables(database);
        driver = new BrokenDriver(database.dataSource());
        EntityManagerFactory unit = services.unit(services.patientPoolOver(driver.dataSource()));
        manager = new JpaTransactionManager(unit);
        mine = services.build(
                unit,
                builder -> builder.nodeLease(LONG).transactionManager(manager).withoutHousekeeping());
        theirs = services.build(builder -> builder.withoutHousekeeping());
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    static Stream<Arguments> failures() {
        return Stream.of(Thrown.values())
                .flatMap(thrown -> Stream.of(When.values())
                        .flatMap(when -> Stream.of(Held.values()).map(held -> Arguments.of(thrown, when, held))));
    }

    private void assertIsSoonFree() {
        await().atMost(SOON).untilAsserted(() -> assertThat(theirs.find("lock")).isEmpty());
        assertThat(theirs.tryAcquire(LockRequest.of("lock")))
                .get()
                .extracting(LockHandle::release)
                .isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(driver.hasFailed()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aReleaseThatThrowsLeavesTheLockFree(Thrown thrown, When when, Held held) throws Exception {
        LockHandle lock = mine.acquire(held.request());
        driver.failNext(thrown, when);
        assertThatThrownBy(lock::release).hasMessage("Thrown by the test");
        assertIsSoonFree();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aNestedReleaseThatThrowsIsNotRepeatedForTheOuterOne(Thrown thrown, When when, Held held) throws Exception {
        LockHandle outer = mine.acquire(held.request());
        LockHandle inner = mine.acquire(held.request());
        driver.failNext(thrown, when);
        assertThatThrownBy(inner::release).hasMessage("Thrown by the test");
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(outer.state()).isEqualTo(LockState.HELD);
        assertThat(theirs.tryAcquire(LockRequest.of(outer.name()))).isEmpty();
        ReleaseOutcome unused = outer.release();
        assertIsSoonFree();
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aReleaseAfterATransactionThatThrowsLeavesTheLockFree(Thrown thrown, When when, Held held) throws Exception {
        LockHandle lock = mine.acquire(held.request());
        new TransactionTemplate(manager).executeWithoutResult(status -> {
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            driver.failNext(thrown, when);
        });
        assertIsSoonFree();
    }

    @ParameterizedTest
    @MethodSource("failures")
    void anAcquisitionThatThrowsLeavesTheLockFree(Thrown thrown, When when, Held held) throws Exception {
        mine.acquire(held.request()).close();
        driver.failNext(thrown, when);
        assertThatThrownBy(() -> mine.acquire(held.request())).hasMessage("Thrown by the test");
        assertIsSoonFree();
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aHandOverThatThrowsLeavesTheLockToTheOneWhoWaits(Thrown thrown, When when, Held held) throws Exception {
        LockHandle lock = mine.acquire(held.request());
        Future<ReleaseOutcome> next = threads.submit(
                () -> mine.acquire(held.request().waitAtMost(SOON)).release());
        await().atMost(SOON).until(() -> mine.admin().waiting() == 1);
        driver.failNext(thrown, when);
        try {
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        } catch (Throwable error) {
            assertThat(error).hasMessage("Thrown by the test");
        }
        assertThat(next.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo(ReleaseOutcome.RELEASED);
        assertIsSoonFree();
    }

    @ParameterizedTest
    @MethodSource("failures")
    void aListOfWhichOneReleaseThrowsLeavesTheOthersFree(Thrown thrown, When when, Held held) throws Exception {
        // The last one is released first.
        LockHandles locks = mine.acquireAll(List.of(held.request(), LockRequest.of("lock 2")));
        driver.failNext(thrown, when);
        assertThatThrownBy(locks::release).hasMessage("Thrown by the test");
        assertIsSoonFree();
    }

    @ParameterizedTest
    @EnumSource
    void aRunWhoseEndThrowsWhenItIsRepeatedLeavesTheLockFree(Thrown thrown) {
        AtomicBoolean isAway = new AtomicBoolean(true);
        AtomicInteger repeated = new AtomicInteger();
        driver.failRuns(() -> isAway.get()
                ? new SQLException("The database is away", "08006")
                : repeated.getAndIncrement() == 0 ? thrown.get() : null);
        assertThat(mine.task(TaskRequest.of("lock").every(LONG)).runIfDue(lock -> {}))
                .isEqualTo(TaskOutcome.UNRESOLVED);
        isAway.set(false);
        assertIsSoonFree();
        assertThat(repeated).hasPositiveValue();
    }

    @ParameterizedTest
    @EnumSource
    void aRowLockWhoseEndThrowsDoesNotKeepTheServiceFromClosing(Thrown thrown) throws Exception {
        mine.acquire(LockRequest.of("lock"));
        mine.acquire(LockRequest.of("row 1").rowLock());
        mine.acquire(LockRequest.of("row 2").rowLock());
        driver.failNextEnd(thrown);
        mine.close();
        assertIsSoonFree();
        theirs.acquire(LockRequest.of("row 1").rowLock()).close();
        theirs.acquire(LockRequest.of("row 2").rowLock()).close();
    }

    /** The row of an owner that others use too is counted down once, and never twice. */
    @ParameterizedTest
    @EnumSource
    void aReleaseOfAChosenOwnerThatThrowsIsDoneOnceAndNotTwice(When when) throws Exception {
        LockRequest request = LockRequest.of("lock").owner("chosen").lease(LONG);
        LockHandle theirHold = theirs.acquire(request);
        LockHandle myHold = mine.acquire(request);
        driver.failNext(Thrown.EXCEPTION, when);
        assertThatThrownBy(myHold::release).hasMessage("Thrown by the test");
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(theirs.find("lock"))
                        .get()
                        .extracting(LockInfo::holdCount)
                        .isEqualTo(1));
        assertThat(theirHold.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }
}
