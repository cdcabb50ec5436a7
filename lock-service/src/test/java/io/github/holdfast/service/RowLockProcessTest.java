package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.SQLExceptionOverride;
import io.github.holdfast.lock.LockDeadlockException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.hibernate.cfg.AvailableSettings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Row locks of several processes, of processes that are killed, and on connections that break. */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class RowLockProcessTest {

    private static final Duration SOON = ofSeconds(60);
    private static final Duration ROUNDS = ofMinutes(3);

    /** What a busy machine, and two statements that wait one after the other, may add to a wait. */
    private static final Duration LONGEST_DELAY = ofSeconds(30);

    private static final LockRequest REQUEST = LockRequest.of("row").rowLock().waitAtMost(SOON);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Database database;
    private Services services;
    private HikariDataSource pool;
    private TransactionTemplate transaction;
    private LockService mine;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        pool = database.pool(config -> {
            config.setConnectionTimeout(60_000);
            config.setMaximumPoolSize(5);
            if (database.kind().isH2()) {
                config.setExceptionOverrideClassName(EvictClosed.class.getName());
            }
        });
        EntityManagerFactory unit =
                services.unit(pool, Map.of(AvailableSettings.CONNECTION_HANDLING, "DELAYED_ACQUISITION_AND_HOLD"));
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        transaction = new TransactionTemplate(manager);
        mine = services.build(unit, builder -> builder.transactionManager(manager));
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    private LockHandle acquired(LockRequest request) {
        try {
            return mine.acquire(request);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"hold", "holdInTransaction"})
    void whoWaitsForAKilledProcessIsFreed(String command) throws Exception {
        try (JavaProcess worker = RowLockWorker.start(database, command, "row")) {
            worker.awaitLine("holding HELD"::equals, ofSeconds(60));
            assertThat(mine.tryAcquire(LockRequest.of("row").rowLock())).isEmpty();
            Future<Long> waiter = threads.submit(() -> {
                mine.acquire(REQUEST).close();
                return System.nanoTime();
            });
            await().atMost(SOON).until(() -> pool.getHikariPoolMXBean().getActiveConnections() > 0);
            assertThat(waiter).isNotDone();
            long start = System.nanoTime();
            worker.kill();
            Duration freedAfter = Duration.ofNanos(waiter.get(60, TimeUnit.SECONDS) - start);
            System.out.println(
                    database.kind().label() + ": kill -9 (" + command + ") freed a waiter after " + freedAfter);
        }
    }

    @Test
    void twoProcessesThatUseBothWaysExcludeEachOther() throws Exception {
        RowLockWorker.createCount(database);
        List<JavaProcess> workers = List.of(
                RowLockWorker.start(database, "rounds", "row", "200", "1"),
                RowLockWorker.start(database, "rounds", "row", "200", "2"));
        try {
            for (JavaProcess worker : workers) {
                assertThat(worker.waitFor(ROUNDS))
                        .as(() -> String.join("\n", worker.lines()))
                        .isZero();
                String told = worker.lines().get(worker.lines().size() - 1);
                System.out.println(database.kind().label() + ": " + told);
                String[] words = told.split(" ");
                assertThat(Integer.parseInt(words[1])).isGreaterThan(40);
                assertThat(Long.parseLong(words[words.length - 2])).isLessThan(LONGEST_DELAY.toMillis());
            }
        } finally {
            workers.forEach(JavaProcess::close);
            database.execute("drop table inside");
        }
        mine.tryAcquire(LockRequest.of("row")).orElseThrow().close();
    }

    @Test
    void aHolderWhoseConnectionBreaksIsToldWhenItAsksOrReleases() throws Exception {
        LockHandle asks = mine.acquire(REQUEST);
        LockHandle releases = mine.acquire(LockRequest.of("other").rowLock());
        LockHandle closes = mine.acquire(LockRequest.of("third").rowLock());
        Sessions.killAll(database);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> asks.ensureValidFor(ofSeconds(1)))
                .satisfies(lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.DISCONNECTED));
        assertThat(asks.state()).isEqualTo(LockState.LOST);
        assertThat(asks.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(releases.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(closes::close);
        await().atMost(SOON).ignoreExceptions().until(() -> {
            mine.acquire(REQUEST).close();
            return true;
        });
    }

    @Test
    void aTransactionUnderALockWhoseConnectionBreaksDoesNotCommit() throws Exception {
        LockHandle lock = mine.acquire(REQUEST);
        Sessions.killAll(database);
        // So the transaction itself has a connection that works.
        pool.getHikariPoolMXBean().softEvictConnections();
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> transaction.executeWithoutResult(status -> {}));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        transaction.executeWithoutResult(status -> {});
    }

    @Test
    void aTransactionWhoseConnectionBreaksDoesNotCommit() {
        assertThat(catchThrowable(() -> transaction.executeWithoutResult(status -> {
                    acquired(REQUEST);
                    try {
                        Sessions.killAll(database);
                    } catch (SQLException e) {
                        throw new AssertionError(e);
                    }
                })))
                .isNotNull();
        await().atMost(SOON).ignoreExceptions().until(() -> {
            mine.acquire(REQUEST).close();
            return true;
        });
    }

    @Test
    void aConnectionThatBreaksWhileItWaitsGivesAClearErrorInACallersTransaction() throws Exception {
        try (JavaProcess worker = RowLockWorker.start(database, "hold", "row")) {
            worker.awaitLine("holding HELD"::equals, ofSeconds(60));
            // Caught inside: Spring throws that the rollback failed, instead of what made it roll back.
            CompletableFuture<Throwable> callers = CompletableFuture.supplyAsync(
                    () -> {
                        Throwable[] failure = new Throwable[1];
                        assertThat(catchThrowable(() -> transaction.executeWithoutResult(
                                        status -> failure[0] = catchThrowable(() -> mine.acquire(REQUEST)))))
                                .isNotNull();
                        return failure[0];
                    },
                    threads);
            killWaiting(callers);
            assertThat(callers).succeedsWithin(SOON);
            // H2 tells the end of a session that waits for a row as a deadlock.
            assertThat(callers.join())
                    .isInstanceOf(database.kind().isH2() ? LockDeadlockException.class : LockStoreException.class)
                    .hasMessageContainingAll("'row'", "not acquired");

            CompletableFuture<LockHandle> own = CompletableFuture.supplyAsync(() -> acquired(REQUEST), threads);
            killWaiting(own);
            assertThat(own).isNotDone();
            worker.kill();
            assertThat(own).succeedsWithin(SOON);
            own.join().close();
        }
    }

    private void killWaiting(Future<?> waiter) throws Exception {
        await().atMost(SOON).until(() -> mine.admin().waiting() > 0);
        // Long enough that the statement waits: H2 does not end the wait of a session that was aborted just before it.
        await().pollDelay(Duration.ofSeconds(1))
                .atMost(SOON)
                .until(() -> mine.admin().waiting() > 0);
        assertThat(waiter).isNotDone();
        await().atMost(SOON).until(() -> Sessions.killWaiting(database) > 0);
    }

    /** The caller's connections are its own affair: Hikari knows a dead one by a SQLState that starts with 08, and H2 has none that does. */
    public static final class EvictClosed implements SQLExceptionOverride {
        private static final Set<Integer> CLOSED = Set.of(90067, 90098, 90121);

        @java.lang.Override
        public Override adjudicate(SQLException thrown) {
            return CLOSED.contains(thrown.getErrorCode()) ? Override.MUST_EVICT : Override.CONTINUE_EVICT;
        }
    }
}
