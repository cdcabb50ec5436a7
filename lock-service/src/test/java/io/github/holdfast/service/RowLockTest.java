package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.TestRows.Row;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.lang.ref.WeakReference;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.h2.jdbc.JdbcConnection;
import org.hibernate.Session;
import org.hibernate.cfg.AvailableSettings;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.core.NestedRuntimeException;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Locks that are held by having their row locked, in the caller's transaction or in one of their own. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class RowLockTest {

    private static final Duration SOON = ofSeconds(60);

    /** What a busy machine may add to what is measured. */
    private static final Duration SLACK = ofSeconds(10);

    private static final String NAME = "row";
    private static final LockRequest REQUEST = LockRequest.of(NAME).rowLock();
    private static final LockRequest WAITING = REQUEST.waitAtMost(SOON);
    private static final LockRequest LEASE = LockRequest.of(NAME).lease(ofSeconds(60));

    private final ExecutorService threads = Executors.newCachedThreadPool();

    /** The connections of the pool. */
    private final List<Connection> physical = new CopyOnWriteArrayList<>();

    private Services services;
    private Database database;
    private TestRows rows;
    private EntityManagerFactory unit;
    private HikariDataSource pool;
    private JpaTransactionManager manager;
    private TransactionTemplate transaction;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        rows = TestRows.of(database);
        Services.emptyTables(database);
        Services.resetStock(database);
        pool = services.patientPoolOver(new DelegatingDataSource(database.dataSource()) {
            @Override
            public Connection getConnection(String user, String password) throws SQLException {
                Connection connection = super.getConnection(user, password);
                physical.add(connection);
                return connection;
            }
        });
        unit = services.unit(pool, Map.of(AvailableSettings.CONNECTION_HANDLING, "DELAYED_ACQUISITION_AND_HOLD"));
        manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        transaction = new TransactionTemplate(manager);
        mine = services.build(unit, builder -> builder.transactionManager(manager));
        theirs = services.build(builder -> builder.withoutHousekeeping());
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    private EntityManager em() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    private void add() {
        em().createNativeQuery("update stock set n = n + 1 where id = 1").executeUpdate();
    }

    private long stock() {
        return database.queryForLong("select n from stock where id = 1");
    }

    private static LockHandle acquired(LockService service, LockRequest request) {
        try {
            return service.acquire(request);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private Future<Duration> waiterFor(LockRequest request) {
        return threads.submit(() -> {
            long start = System.nanoTime();
            theirs.acquire(request).close();
            return since(start);
        });
    }

    /** Asked by another thread: the calling one may be in a transaction that the other service does not know. */
    private boolean isFree() {
        return CompletableFuture.supplyAsync(
                        () -> {
                            Optional<LockHandle> lock = theirs.tryAcquire(REQUEST);
                            lock.ifPresent(LockHandle::close);
                            return lock.isPresent();
                        },
                        threads)
                .join();
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    /** Waits until a thread that acquires is in the database, or pauses; there is no way to tell from outside. */
    private void awaitWaiter(LockService service) {
        await().atMost(SOON).until(() -> service.admin().waiting() > 0);
        await().pollDelay(ofMillis(200))
                .atMost(SOON)
                .until(() -> service.admin().waiting() > 0);
    }

    // In a transaction of its own

    @Test
    void excludesWhoeverWantsTheSameName() {
        LockHandle lock = mine.tryAcquire(REQUEST).orElseThrow();

        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(lock.remaining()).isPositive();
        assertThat(lock.holdCount()).isEqualTo(1);
        assertThat(lock.isFenced()).isFalse();
        assertThat(theirs.tryAcquire(REQUEST)).isEmpty();
        assertThat(theirs.tryAcquire(LEASE)).isEmpty();
        assertThat(theirs.tryAcquire(LockRequest.of(NAME))).isEmpty();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(lock.state()).isEqualTo(LockState.RELEASED);
        assertThat(lock.remaining()).isZero();
        theirs.tryAcquire(REQUEST).orElseThrow().close();
        theirs.tryAcquire(LEASE).orElseThrow().close();
    }

    @Test
    void writesNothingAndIsNotSeenByOthers() {
        mine.tryAcquire(REQUEST).orElseThrow().close();
        Row before = rows.row(NAME);
        try (LockHandle lock = mine.tryAcquire(REQUEST).orElseThrow();
                LockHandle nested = mine.tryAcquire(REQUEST).orElseThrow()) {
            assertThat(nested.holdCount()).isEqualTo(2);
            assertThat(nested.owner()).isEqualTo(lock.owner());
            assertThat(rows.row(NAME)).isEqualTo(before);
            assertThat(theirs.find(NAME)).isEmpty();
            assertThat(nested.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            assertThat(theirs.tryAcquire(REQUEST)).isEmpty();
        }
        assertThat(rows.row(NAME)).isEqualTo(before);
    }

    @Test
    void hasNoTokenAndNoLease() {
        try (LockHandle lock = mine.tryAcquire(REQUEST).orElseThrow()) {
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(lock::fencingToken)
                    .withMessageContaining(NAME);
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> lock.renew(ofSeconds(1)))
                    .withMessageContaining(NAME);
            assertThatExceptionOfType(UnsupportedOperationException.class)
                    .isThrownBy(() -> lock.guard(unit.createEntityManager()));
            assertThatIllegalStateException().isThrownBy(lock::guard).withMessageContaining(NAME);
            lock.ensureValidFor(ofSeconds(1));
            assertThat(lock.toString()).contains(NAME, "HELD");
        }
    }

    @Test
    void cannotBeCombinedWithWhatNeedsTheRowToBeWritten() {
        for (LockRequest request : List.of(
                LockRequest.of(NAME).lease(ofSeconds(1)),
                LockRequest.of(NAME).owner("me"),
                LockRequest.of(NAME).minimumHold(ofSeconds(1)),
                LockRequest.of(NAME).notReentrant(),
                LockRequest.of(NAME).interruptOnLoss())) {
            assertThatIllegalArgumentException().isThrownBy(request::rowLock).withMessageContaining(NAME);
        }
        assertThatIllegalArgumentException().isThrownBy(() -> REQUEST.lease(ofSeconds(1)));
    }

    @Test
    void aWaiterIsFreedWhenItIsReleased() throws Exception {
        LockHandle lock = mine.tryAcquire(REQUEST).orElseThrow();
        Future<Duration> row = waiterFor(WAITING);
        awaitWaiter(theirs);
        long start = System.nanoTime();
        lock.close();
        row.get(60, TimeUnit.SECONDS);
        System.out.println(database.kind().label() + ": a release freed a waiter after " + since(start));

        LockHandle again = mine.tryAcquire(REQUEST).orElseThrow();
        Future<Duration> lease = waiterFor(LEASE.waitAtMost(SOON));
        awaitWaiter(theirs);
        again.close();
        lease.get(60, TimeUnit.SECONDS);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 50, 300, 1500})
    void waitsNoLongerThanAskedForAndOneSecond(int millis) throws Exception {
        Duration wait = ofMillis(millis);
        try (LockHandle lock = theirs.acquire(WAITING)) {
            long start = System.nanoTime();
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> mine.acquire(REQUEST.waitAtMost(wait)))
                    .withMessageContaining("locked its row");
            Duration own = since(start);
            assertThat(own).isBetween(wait, wait.plusSeconds(1).plus(SLACK));

            long callersStart = System.nanoTime();
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(
                            () -> transaction.executeWithoutResult(status -> acquired(mine, REQUEST.waitAtMost(wait))));
            Duration callers = since(callersStart);
            assertThat(callers).isBetween(wait, wait.plusSeconds(1).plus(SLACK));
            System.out.println(database.kind().label() + ": waited " + wait + " in vain for " + own
                    + ", in a caller's transaction for " + callers);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        mine.tryAcquire(REQUEST).orElseThrow().close();
    }

    @Test
    void isHeldByTheThreadThatAcquiredItAndReleasedByAny() throws Exception {
        LockHandle lock = mine.tryAcquire(REQUEST).orElseThrow();
        threads.submit(() -> {
                    assertThat(mine.tryAcquire(REQUEST)).isEmpty();
                    return lock.release();
                })
                .get(60, TimeUnit.SECONDS);
        assertThat(lock.state()).isEqualTo(LockState.RELEASED);
        theirs.tryAcquire(REQUEST).orElseThrow().close();

        LockHandle detached = mine.tryAcquire(REQUEST).orElseThrow().detach();
        assertThat(mine.tryAcquire(REQUEST)).isEmpty();
        detached.close();
    }

    @Test
    void thereAreNoMoreThanAllowed() {
        LockService few = services.build(builder -> builder.maxRowLocks(2).withoutHousekeeping());
        LockHandle one = few.tryAcquire(REQUEST).orElseThrow();
        LockHandle other = few.tryAcquire(LockRequest.of("other").rowLock()).orElseThrow();
        LockRequest third = LockRequest.of("third").rowLock();

        assertThatIllegalStateException()
                .isThrownBy(() -> few.tryAcquire(third))
                .withMessageContainingAll("third", "2", "maxRowLocks");

        few.tryAcquire(REQUEST).orElseThrow().close();
        one.close();
        assertThat(theirs.tryAcquire(LockRequest.of("other").rowLock())).isEmpty();
        assertThat(few.tryAcquire(LockRequest.of("fourth").rowLock())).isPresent();
        other.close();
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockService.builder(unit).maxRowLocks(-1));
    }

    @Test
    void closingTheServiceFreesThem() {
        LockHandle lock = theirs.tryAcquire(REQUEST).orElseThrow();
        theirs.close();
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(lock::close)
                .satisfies(lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.SERVICE_CLOSED));
        mine.tryAcquire(REQUEST).orElseThrow().close();
        assertThatIllegalStateException()
                .isThrownBy(() -> theirs.tryAcquire(REQUEST))
                .withMessageContaining("closed");
    }

    @Test
    void aRowThatIsNotThereIsCreated() throws Exception {
        acquired(mine, LockRequest.of("new 1").rowLock()).close();
        transaction.executeWithoutResult(
                status -> acquired(mine, LockRequest.of("new 2").rowLock()).close());
        assertThat(rows.names()).containsExactly("new 1", "new 2");
    }

    /** A lock on a gap of the index would also block the first use of names that sort into it. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void blocksNoOtherNameThatIsNew(boolean isCallers) {
        for (String other : List.of("a", "z")) {
            theirs.acquireUninterruptibly(LockRequest.of(other)).close();
        }
        Runnable work = () -> {
            try (LockHandle lock = mine.tryAcquire(REQUEST).orElseThrow()) {
                assertThat(lock.state()).isEqualTo(LockState.HELD);
                for (String other : List.of("0", "r", "row1", "s", "zz")) {
                    theirs.tryAcquire(LockRequest.of(other)).orElseThrow().close();
                }
            }
        };
        if (isCallers) {
            transaction.executeWithoutResult(status -> work.run());
        } else {
            work.run();
        }
    }

    @Test
    void noConnectionIsLeftBehind() throws Exception {
        mine.tryAcquire(REQUEST).orElseThrow().close();
        try (LockHandle lock = theirs.acquire(WAITING)) {
            assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        try (LockHandle lock = theirs.acquire(LEASE)) {
            assertThatExceptionOfType(LockNotAcquiredException.class)
                    .isThrownBy(() -> mine.acquire(REQUEST.waitAtMost(ofMillis(30))))
                    .satisfies(refused -> assertThat(refused.holder()).isPresent());
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        await().atMost(SOON).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }

    // In the caller's transaction

    @Test
    void isHeldUntilTheCallersTransactionEnds() {
        for (boolean isToCommit : new boolean[] {true, false}) {
            LockHandle[] lock = new LockHandle[1];
            List<Future<Duration>> waiter = new ArrayList<>();
            long[] end = new long[1];
            transaction.executeWithoutResult(status -> {
                lock[0] = acquired(mine, REQUEST);
                assertThat(lock[0].isFenced()).isTrue();
                lock[0].guard();
                lock[0].ensureValidFor(ofSeconds(1));
                assertThat(lock[0].release()).isEqualTo(ReleaseOutcome.DEFERRED);
                add();
                assertThat(isFree()).isFalse();
                waiter.add(waiterFor(WAITING));
                awaitWaiter(theirs);
                if (!isToCommit) {
                    status.setRollbackOnly();
                }
                end[0] = System.nanoTime();
            });
            assertThat(waiter).singleElement().satisfies(waiting -> waiting.get(60, TimeUnit.SECONDS));
            System.out.println(database.kind().label() + ": a " + (isToCommit ? "commit" : "rollback")
                    + " freed a waiter after " + since(end[0]));
            assertThat(lock[0].release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(stock()).isEqualTo(1);
        }
    }

    @Test
    void isOverWithTheTransactionEvenIfItWasNotReleased() {
        LockHandle lock = Objects.requireNonNull(transaction.execute(status -> acquired(mine, REQUEST)));
        assertThat(lock.state()).isEqualTo(LockState.RELEASED);
        assertThat(lock.isFenced()).isFalse();
        assertThatIllegalStateException().isThrownBy(() -> lock.ensureValidFor(ofSeconds(1)));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.tryAcquire(REQUEST).orElseThrow().close();
    }

    @Test
    void isReenteredWithinTheTransactionAndNothingIsWritten() {
        mine.tryAcquire(REQUEST).orElseThrow().close();
        Row before = rows.row(NAME);
        transaction.executeWithoutResult(status -> {
            LockHandle lock = acquired(mine, REQUEST);
            LockHandle nested = acquired(mine, REQUEST);
            assertThat(lock.holdCount()).isEqualTo(2);
            em().flush();
            assertThat(nested.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            LockHandle again = mine.tryAcquire(REQUEST).orElseThrow();
            assertThat(again.holdCount()).isEqualTo(1);
            assertThat(again.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(isFree()).isFalse();
            add();
        });
        assertThat(rows.row(NAME)).isEqualTo(before);
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void isReenteredByATransactionInsideIt() {
        TransactionTemplate inner = new TransactionTemplate(manager);
        inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        transaction.executeWithoutResult(outer -> {
            LockHandle lock = acquired(mine, REQUEST);
            inner.executeWithoutResult(status -> {
                assertThat(lock.isFenced()).isFalse();
                try (LockHandle nested = acquired(mine, REQUEST)) {
                    assertThat(nested.holdCount()).isEqualTo(2);
                    add();
                }
            });
            assertThat(lock.holdCount()).isEqualTo(1);
            assertThat(isFree()).isFalse();
        });
        theirs.tryAcquire(REQUEST).orElseThrow().close();
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void oneOfItsOwnLastsUntilTheTransactionHasEndedInWhichItIsReleased() throws Exception {
        LockHandle lock = acquired(mine, REQUEST);
        transaction.executeWithoutResult(status -> {
            add();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            assertThat(lock.isFenced()).isFalse();
            assertThat(isFree()).isFalse();
        });
        theirs.tryAcquire(REQUEST).orElseThrow().close();
        await().atMost(SOON).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }

    @Test
    void aTryInVainLeavesTheTransactionAsItWas() throws Exception {
        try (LockHandle lock = theirs.acquire(WAITING)) {
            transaction.executeWithoutResult(status -> {
                assertThat(mine.tryAcquire(REQUEST)).isEmpty();
                add();
            });
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void aWaitInVainLeavesTheTransactionNothingButToRollBack() throws Exception {
        try (LockHandle lock = theirs.acquire(WAITING)) {
            assertThatExceptionOfType(UnexpectedRollbackException.class)
                    .isThrownBy(() -> transaction.executeWithoutResult(
                            status -> assertThatExceptionOfType(LockNotAcquiredException.class)
                                    .isThrownBy(() -> mine.acquire(REQUEST.waitAtMost(ofMillis(200))))));
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        transaction.executeWithoutResult(status -> {
            acquired(mine, REQUEST);
            add();
        });
        assertThat(stock()).isEqualTo(1);
    }

    /** After another row lock, so that the wait is in the transaction itself on every database. */
    @Test
    void aWaitInVainInTheTransactionIsToldToListeners() throws Exception {
        Queue<String> told = new ConcurrentLinkedQueue<>();
        LockService observed = services.build(
                unit,
                builder -> builder.transactionManager(manager)
                        .withoutHousekeeping()
                        .listener(new LockListener() {
                            @Override
                            public void refused(String lockName, Duration waited) {
                                told.add(lockName);
                            }
                        }));
        try (LockHandle lock = theirs.acquire(WAITING)) {
            assertThatExceptionOfType(UnexpectedRollbackException.class)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                        acquired(observed, LockRequest.of("another").rowLock());
                        assertThatExceptionOfType(LockNotAcquiredException.class)
                                .isThrownBy(() -> observed.acquire(REQUEST.waitAtMost(ofMillis(200))));
                    }));
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        assertThat(told).containsExactly(NAME);
    }

    @Test
    void needsATransactionThatTheServiceKnowsAndThatMayWrite() {
        TransactionTemplate readOnly = new TransactionTemplate(manager);
        readOnly.setReadOnly(true);
        assertThatIllegalStateException()
                .isThrownBy(() -> readOnly.executeWithoutResult(status -> mine.tryAcquire(REQUEST)))
                .withMessageContainingAll(NAME, "read-only");
        TransactionTemplate foreign = new TransactionTemplate(new DataSourceTransactionManager(database.dataSource()));
        assertThatIllegalStateException()
                .isThrownBy(() -> foreign.executeWithoutResult(status -> mine.tryAcquire(REQUEST)))
                .withMessageContainingAll(NAME, "transactionManager");
        assertThatIllegalStateException()
                .isThrownBy(() -> mine.tryAcquire(REQUEST.requireFence()))
                .withMessageContainingAll(NAME, "requires a fence");
        transaction.executeWithoutResult(
                status -> assertThat(mine.tryAcquire(REQUEST.requireFence())).isPresent());
    }

    @Test
    void isRefusedAfterTheCommitWithTheAdviceToBeginATransaction() {
        transaction.executeWithoutResult(status ->
                TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                    @Override
                    public void afterCommit() {
                        assertThatIllegalStateException()
                                .isThrownBy(() -> mine.tryAcquire(REQUEST))
                                .withMessageContainingAll(NAME, "has ended", "inside the one that follows");
                    }
                }));
        assertThat(isFree()).isTrue();
    }

    @Test
    void isOverWithTheCommitNotOnlyWhenSpringHasDoneEverythingElse() {
        TransactionTemplate inner = new TransactionTemplate(manager);
        inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        List<Boolean> wasReentered = new ArrayList<>();
        transaction.executeWithoutResult(status -> {
            LockHandle outer = acquired(mine, REQUEST);
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    assertThat(outer.state()).isEqualTo(LockState.RELEASED);
                    assertThat(outer.isFenced()).isFalse();
                    inner.executeWithoutResult(nested -> {
                        wasReentered.add(acquired(mine, REQUEST).holdCount() > 1);
                        assertThat(isFree()).isFalse();
                    });
                }
            });
        });
        assertThat(wasReentered).containsExactly(false);
        theirs.tryAcquire(REQUEST).orElseThrow().close();
    }

    static List<LockRequest> otherHolders() {
        return List.of(
                WAITING,
                LEASE.waitAtMost(SOON),
                LockRequest.of(NAME).waitAtMost(SOON),
                LockRequest.of(NAME).shared().waitAtMost(SOON));
    }

    @ParameterizedTest
    @MethodSource("otherHolders")
    void isLostIfTheDatabaseHasEndedTheTransactionBehindSpringsBack(LockRequest request) {
        boolean commitsOnDdl = database.kind() != TestDatabase.POSTGRESQL;
        assumeTrue(commitsOnDdl, "DDL is part of the transaction");
        assertThatExceptionOfType(UnexpectedRollbackException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    LockHandle lock = acquired(mine, REQUEST);
                    em().createNativeQuery("create table ends_it (n int)").executeUpdate();
                    LockHandle other = CompletableFuture.supplyAsync(() -> acquired(theirs, request), threads)
                            .join();
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(lock::guard)
                            .satisfies(lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.TAKEN_OVER));
                    assertThatExceptionOfType(LockLostException.class)
                            .isThrownBy(() -> lock.ensureValidFor(ofSeconds(1)));
                    assertThat(lock.state()).isEqualTo(LockState.LOST);
                    assertThat(lock.isFenced()).isFalse();
                    other.close();
                }));
        database.execute("drop table ends_it");
    }

    @Test
    void noTransactionInsideCommitsAfterTheRowIsLost() {
        TransactionTemplate inner = new TransactionTemplate(manager);
        inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        assertThatExceptionOfType(NestedRuntimeException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(outer -> {
                    LockHandle lock = acquired(mine, REQUEST);
                    em().unwrap(Session.class).doWork(this::end);
                    LockHandle other = CompletableFuture.supplyAsync(() -> acquired(theirs, WAITING), threads)
                            .join();
                    for (int attempt = 1; attempt <= 2; attempt++) {
                        assertThatExceptionOfType(LockLostException.class)
                                .as("attempt %d", attempt)
                                .isThrownBy(() -> inner.executeWithoutResult(status -> add()));
                    }
                    assertThat(lock.state()).isEqualTo(LockState.LOST);
                    other.close();
                }));
        assertThat(stock()).isZero();
        transaction.executeWithoutResult(status -> add());
        assertThat(stock()).isEqualTo(1);
    }

    /** The commit would release it, so callers need not keep the handle. */
    @Test
    void noTransactionInsideCommitsAfterTheRowIsLostThoughNothingKeepsTheHandle() {
        TransactionTemplate inner = new TransactionTemplate(manager);
        inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        assertThatExceptionOfType(NestedRuntimeException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(outer -> {
                    WeakReference<LockHandle> handle = new WeakReference<>(acquired(mine, REQUEST));
                    em().unwrap(Session.class).doWork(this::end);
                    LockHandle other = CompletableFuture.supplyAsync(() -> acquired(theirs, WAITING), threads)
                            .join();
                    for (int attempt = 1; attempt <= 2; attempt++) {
                        assertThatExceptionOfType(LockLostException.class)
                                .as("attempt %d", attempt)
                                .isThrownBy(() -> inner.executeWithoutResult(status -> add()));
                        await().atMost(SOON).until(() -> {
                            System.gc();
                            return handle.refersTo(null);
                        });
                    }
                    other.close();
                }));
        assertThat(stock()).isZero();
    }

    /** Its transaction is its own, so no commit releases it. */
    @Test
    void noTransactionUnderALostOneOfItsOwnCommitsThoughItsHandleWasDropped() {
        WeakReference<LockHandle> handle = new WeakReference<>(acquired(mine, REQUEST));
        physical.forEach(this::end);
        for (int attempt = 1; attempt <= 2; attempt++) {
            assertThatExceptionOfType(LockLostException.class)
                    .as("attempt %d", attempt)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> add()));
            await().atMost(SOON).until(() -> {
                System.gc();
                return handle.refersTo(null);
            });
        }
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> add()))
                .withMessageContaining("dropped");
        acquired(mine, REQUEST).close();
        transaction.executeWithoutResult(status -> add());
        assertThat(stock()).isEqualTo(1);
    }

    /** Most databases unlock what was locked since the savepoint. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRollbackToASavepointThatUnlocksTheRowIsNoticedWhenItIsAcquiredAgain(boolean isReleased) {
        AtomicReference<LockHandle> other = new AtomicReference<>();
        transaction.executeWithoutResult(status -> {
            Session session = em().unwrap(Session.class);
            Savepoint savepoint = session.doReturningWork(Connection::setSavepoint);
            LockHandle lock = acquired(mine, REQUEST);
            if (isReleased) {
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.DEFERRED);
            }
            session.doWork(connection -> connection.rollback(savepoint));
            CompletableFuture.runAsync(() -> theirs.tryAcquire(LEASE).ifPresent(other::set), threads)
                    .join();
            if (other.get() == null) {
                assertThat(mine.tryAcquire(REQUEST)).as("still locked").isPresent();
            } else if (isReleased) {
                assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            } else {
                assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> mine.tryAcquire(REQUEST));
                assertThat(status.isRollbackOnly()).isTrue();
                status.setRollbackOnly();
            }
        });
        if (other.get() != null) {
            assertThat(other.get().release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void aLostOneKeepsTransactionsFromCommittingThoughItsNameWasAcquiredAgain() {
        LockHandle lost = acquired(mine, REQUEST);
        physical.forEach(this::end);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> add()));
        try (LockHandle again = acquired(mine, WAITING)) {
            assertThat(again.holdCount()).isEqualTo(1);
            assertThatExceptionOfType(LockLostException.class)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> add()));
        }
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> add()));
        assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST);
        transaction.executeWithoutResult(status -> add());
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void aTransactionInsideCommitsAfterTheOuterOneHas() {
        TransactionTemplate inner = new TransactionTemplate(manager);
        inner.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        transaction.executeWithoutResult(outer -> {
            acquired(mine, REQUEST);
            TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    inner.executeWithoutResult(status -> add());
                }
            });
        });
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void noTransactionUnderALostOneOfItsOwnCommits() {
        LockHandle lock = acquired(mine, REQUEST);
        assertThat(physical).isNotEmpty();
        physical.forEach(this::end);
        for (int attempt = 1; attempt <= 3; attempt++) {
            assertThatExceptionOfType(LockLostException.class)
                    .as("attempt %d", attempt)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> add()));
        }
        assertThat(lock.holdCount()).isZero();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        transaction.executeWithoutResult(status -> add());
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void noTransactionUnderOneOfAClosedServiceCommits() {
        LockHandle lock = acquired(mine, REQUEST);
        mine.close();
        for (int attempt = 1; attempt <= 2; attempt++) {
            assertThatExceptionOfType(LockLostException.class)
                    .as("attempt %d", attempt)
                    .isThrownBy(() -> transaction.executeWithoutResult(status -> add()));
        }
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        transaction.executeWithoutResult(status -> add());
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void oneThatWasAcquiredBesideASuspendedTransactionIsCheckedAtItsCommit() {
        TransactionTemplate beside = new TransactionTemplate(manager);
        beside.setPropagationBehavior(TransactionDefinition.PROPAGATION_NOT_SUPPORTED);
        List<LockHandle> lock = new ArrayList<>();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    add();
                    beside.executeWithoutResult(suspended -> lock.add(acquired(mine, REQUEST)));
                    mine.close();
                }));
        assertThat(stock()).isZero();
        assertThat(lock)
                .singleElement()
                .satisfies(lost -> assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST));
    }

    /** Ends a session, as the database does with one that is idle in its transaction for too long. */
    private void end(Connection connection) {
        // Or the pool would hand it out again: it does not check a connection that was in use just now.
        pool.getHikariPoolMXBean().softEvictConnections();
        try {
            if (database.kind().isH2()) {
                // It does not support abort.
                connection.unwrap(JdbcConnection.class).close();
            } else {
                connection.abort(Runnable::run);
            }
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void isNotReenteredFromAnotherTransactionIfItIsToBeFenced() {
        acquired(mine, REQUEST);
        assertThatIllegalStateException()
                .isThrownBy(() -> transaction.executeWithoutResult(status -> mine.tryAcquire(REQUEST.requireFence())))
                .withMessageContainingAll(NAME, "requires a fence");
    }

    @Test
    void aTryInVainDoesNotFixWhatARepeatableTransactionSees() throws Exception {
        TransactionTemplate isolated = new TransactionTemplate(manager);
        isolated.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
        LockHandle other = theirs.acquire(WAITING);
        isolated.executeWithoutResult(status -> {
            assertThat(mine.tryAcquire(REQUEST)).isEmpty();
            database.execute("update stock set n = 41 where id = 1");
            assertThat(CompletableFuture.supplyAsync(other::release, threads).join())
                    .isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(mine.tryAcquire(REQUEST)).isPresent();
            assertThat(((Number) em().createNativeQuery("select n from stock where id = 1")
                                    .getSingleResult())
                            .longValue())
                    .isEqualTo(41);
        });
    }

    @ParameterizedTest
    @ValueSource(
            ints = {
                TransactionDefinition.ISOLATION_READ_COMMITTED,
                TransactionDefinition.ISOLATION_REPEATABLE_READ,
                TransactionDefinition.ISOLATION_SERIALIZABLE
            })
    void whoHasWaitedSeesWhatTheHolderCommitted(int isolation) throws Exception {
        TransactionTemplate isolated = new TransactionTemplate(manager);
        isolated.setIsolationLevel(isolation);
        int perThread = 10;
        List<Future<Integer>> workers = new ArrayList<>();
        for (int thread = 0; thread < 3; thread++) {
            workers.add(threads.submit(() -> {
                int refused = 0;
                for (int done = 0; done < perThread; ) {
                    try {
                        isolated.executeWithoutResult(status -> {
                            acquired(mine, WAITING);
                            long read = ((Number) em().createNativeQuery("select n from stock where id = 1")
                                            .getSingleResult())
                                    .longValue();
                            em().createNativeQuery("update stock set n = " + (read + 1) + " where id = 1")
                                    .executeUpdate();
                        });
                        done++;
                    } catch (LockNotAcquiredException faster) {
                        refused++;
                    } catch (RuntimeException failed) {
                        if (isolation == TransactionDefinition.ISOLATION_READ_COMMITTED || !isOldSnapshot(failed)) {
                            throw failed;
                        }
                        refused++;
                    }
                }
                return refused;
            }));
        }
        int refused = 0;
        for (Future<Integer> worker : workers) {
            refused += worker.get(60, TimeUnit.SECONDS);
        }
        assertThat(stock()).isEqualTo(3L * perThread);
        System.out.println(database.kind().label() + ", isolation " + isolation + ": " + refused + " refused");
    }

    /** A holder has committed while the transaction's first row lock fixed its snapshot: what is old is not written. */
    private static boolean isOldSnapshot(Throwable failed) {
        return Stream.iterate(failed, Objects::nonNull, Throwable::getCause)
                .anyMatch(cause -> cause instanceof SQLException e && "40001".equals(e.getSQLState()));
    }

    @Test
    void aDeadlockIsToldWithBothNames() throws Exception {
        LockRequest a = LockRequest.of("a").rowLock().waitAtMost(SOON);
        LockRequest b = LockRequest.of("b").rowLock().waitAtMost(SOON);
        CyclicBarrier bothHaveOne = new CyclicBarrier(2);
        List<Future<?>> callers = List.of(
                threads.submit(() -> acquireBoth(a, b, bothHaveOne)),
                threads.submit(() -> acquireBoth(b, a, bothHaveOne)));
        List<Throwable> failures = new ArrayList<>();
        for (Future<?> caller : callers) {
            Throwable failed = failure(caller);
            if (failed != null) {
                failures.add(failed);
            }
        }
        assertThat(failures).singleElement().isInstanceOfSatisfying(LockDeadlockException.class, deadlock -> {
            assertThat(deadlock.heldNames()).hasSize(1);
            List<String> names = new ArrayList<>(deadlock.heldNames());
            names.add(deadlock.lockName().orElseThrow());
            assertThat(names).containsExactlyInAnyOrder("a", "b");
            assertThat(deadlock)
                    .hasMessageContainingAll("'" + deadlock.lockName().orElseThrow() + "'", names.get(0));
        });
        assertThat(stock()).isEqualTo(1);
        mine.acquireAll(List.of(a, b)).close();
    }

    /** Which of the two transactions fails is the database's choice. */
    @Test
    void aDeadlockWithARowOfTheApplicationIsReportedAsOne() throws Exception {
        CyclicBarrier bothHaveOne = new CyclicBarrier(2);
        Future<?> writesFirst = threads.submit(() -> transaction.executeWithoutResult(status -> {
            add();
            meet(bothHaveOne);
            acquired(mine, WAITING);
        }));
        Future<?> locksFirst = threads.submit(() -> transaction.executeWithoutResult(status -> {
            acquired(mine, WAITING);
            meet(bothHaveOne);
            add();
        }));
        Throwable refused = failure(writesFirst);
        Throwable failed = failure(locksFirst);
        assertThat(refused == null).isNotEqualTo(failed == null);
        if (refused != null) {
            assertThat(refused)
                    .isInstanceOfSatisfying(
                            LockDeadlockException.class,
                            deadlock -> assertThat(deadlock.heldNames()).isEmpty());
        }
        assertThat(stock()).isEqualTo(1);
    }

    private static @Nullable Throwable failure(Future<?> caller) throws Exception {
        try {
            caller.get(60, TimeUnit.SECONDS);
            return null;
        } catch (ExecutionException failed) {
            return failed.getCause();
        }
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await(60, TimeUnit.SECONDS);
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private void acquireBoth(LockRequest first, LockRequest second, CyclicBarrier bothHaveOne) {
        transaction.executeWithoutResult(status -> {
            acquired(mine, first);
            meet(bothHaveOne);
            acquired(mine, second);
            add();
        });
    }

    // Beside leases

    @Test
    void waitsUntilALeaseIsReleasedOrOver() throws Exception {
        LockHandle held = theirs.acquire(LEASE);
        assertThat(mine.tryAcquire(REQUEST)).isEmpty();
        CompletableFuture<LockHandle> waiting = CompletableFuture.supplyAsync(() -> acquired(mine, WAITING), threads);
        awaitWaiter(mine);
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        waiting.get(60, TimeUnit.SECONDS).close();

        LockHandle expiring = Services.acquireBriefly(theirs, LEASE);
        Row before = rows.row(NAME);
        try (LockHandle lock = mine.acquire(WAITING)) {
            assertThat(rows.row(NAME))
                    .as("what a dead holder left is taken from it")
                    .isEqualTo(new Row(null, null, null, 0, before.token() + 1, before.version() + 1));
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        assertThat(expiring.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void whoseLeaseWasTakenOverDoesNotCommit() throws Exception {
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {
                    acquired(mine, LEASE.lease(ofSeconds(2)));
                    add();
                    assertThat(waiterFor(WAITING)).succeedsWithin(SOON);
                }));
        assertThat(stock()).isZero();
    }

    @Test
    void doesNotTakeOverALeaseWhoseHolderIsAboutToCommit() throws Exception {
        List<Future<Duration>> waiter = new ArrayList<>();
        transaction.executeWithoutResult(status -> {
            LockHandle lock = acquired(mine, LEASE.lease(ofSeconds(2)));
            lock.guard();
            await().atMost(SOON).until(() -> lock.remaining().isZero());
            assertThat(isFree()).isFalse();
            waiter.add(waiterFor(WAITING));
            awaitWaiter(theirs);
            assertThat(waiter.get(0)).isNotDone();
            add();
        });
        assertThat(waiter).singleElement().satisfies(waiting -> waiting.get(60, TimeUnit.SECONDS));
        assertThat(stock()).isEqualTo(1);
    }

    @Test
    void whatALostNodeLeftIsTakenFromItFirst() throws Exception {
        rows.node("overdue", false, ofSeconds(1));
        rows.heldThrough("overdue", NAME);
        Row before = rows.row(NAME);
        mine.acquire(WAITING).close();
        assertThat(rows.row(NAME)).isEqualTo(new Row(null, null, null, 0, before.token() + 1, before.version() + 1));
    }

    @Test
    void isNotGrantedBeforeTheDelayAfterADeadHolder() throws Exception {
        LockService delaying = services.build(builder -> builder.lockDelay(ofMillis(1500)));
        rows.leased(ofSeconds(1), NAME);
        // Before the delay begins, which may be some time before the answer.
        long start = System.nanoTime();
        assertThat(delaying.tryAcquire(REQUEST)).isEmpty();
        delaying.acquire(WAITING).close();
        assertThat(since(start)).isGreaterThan(ofSeconds(1));
    }

    @Test
    void oneThreadDoesNotWaitForItself() throws Exception {
        try (LockHandle lock = mine.acquire(LEASE)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> mine.tryAcquire(REQUEST))
                    .withMessageContaining(NAME);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        try (LockHandle lock = mine.acquire(WAITING)) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> mine.tryAcquire(LEASE))
                    .withMessageContaining(NAME);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        Optional<LockHandle> free = theirs.tryAcquire(REQUEST);
        assertThat(free).isPresent();
        free.orElseThrow().close();
    }
}
