package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Threads that have all connections of the pool while they want a lock, and what waiting takes from the pool. */
@OnEachDatabase
class PoolTest {

    private static final String MINE = "mine";
    private static final int THREADS = 4;
    private static final Duration CONNECTION_TIMEOUT = ofSeconds(2);
    private static final Duration WAIT = ofSeconds(3);
    private static final Duration SOON = ofSeconds(30);

    private Database database;
    private Services services;
    private HikariDataSource pool;
    private EntityManagerFactory unit;
    private JpaTransactionManager manager;
    private TransactionTemplate transaction;
    private LockService theirs;
    private final ExecutorService workers = Executors.newCachedThreadPool();
    private final CyclicBarrier together = new CyclicBarrier(THREADS);

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        pool = database.pool(config -> {
            config.setMaximumPoolSize(THREADS);
            config.setMinimumIdle(THREADS);
            config.setConnectionTimeout(CONNECTION_TIMEOUT.toMillis());
        });
        unit = services.unit(pool);
        manager = new JpaTransactionManager(unit);
        transaction = new TransactionTemplate(manager);
        theirs = services.build(builder -> builder);
    }

    @AfterEach
    void close() throws Exception {
        workers.shutdown();
        services.close();
        pool.close();
    }

    private LockService service(UnaryOperator<LockServiceBuilder> settings) {
        return services.build(
                unit,
                builder -> settings.apply(
                        builder.application(MINE).transactionManager(manager).withoutHousekeeping()));
    }

    /** The work's results, each from a thread that has a connection of the pool, so that none is left. */
    private <T> List<T> inTransactions(Callable<T> work) throws Exception {
        // A busy machine may take longer to open connections than the threads wait for one.
        await().atMost(SOON).until(() -> pool.getHikariPoolMXBean().getIdleConnections() == THREADS);
        List<Future<T>> results = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            results.add(workers.submit(() -> Objects.requireNonNull(transaction.execute(status -> {
                Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit))
                        .createNativeQuery("select 1")
                        .getSingleResult();
                meet();
                try {
                    return work.call();
                } catch (Exception failed) {
                    throw new IllegalStateException(failed);
                } finally {
                    meet();
                }
            }))));
        }
        List<T> values = new ArrayList<>();
        for (Future<T> result : results) {
            values.add(result.get(90, TimeUnit.SECONDS));
        }
        return values;
    }

    private void meet() {
        try {
            together.await(60, TimeUnit.SECONDS);
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }

    private static LockRequest ofThisThread(Duration waitTime) {
        return LockRequest.of("of thread " + Thread.currentThread().getId()).waitAtMost(waitTime);
    }

    private static int active(HikariDataSource pool) {
        return pool.getHikariPoolMXBean().getActiveConnections();
    }

    private long beats() {
        return database.queryForLong(
                "select max(version) from lock_node where not ended and description like '" + MINE + ":%'");
    }

    private void assertNothingIsLeft(HikariDataSource... pools) {
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(theirs.admin().held("", 10)).isEmpty());
        for (HikariDataSource used : pools) {
            await().atMost(SOON).until(() -> active(used) == 0);
        }
    }

    @Test
    void threadsThatHaveAllConnectionsAcquireLocksThroughALockDataSource() throws Exception {
        HikariDataSource lockPool = database.pool(config -> config.setMaximumPoolSize(2));
        LockService mine = service(builder -> builder.lockDataSource(lockPool));
        List<Boolean> fenced = inTransactions(() -> {
            assertThat(active(pool)).isEqualTo(THREADS);
            try (LockHandle lock = mine.acquire(ofThisThread(SOON))) {
                assertThat(lock.state()).isEqualTo(LockState.HELD);
                return lock.isFenced();
            }
        });
        assertThat(fenced).hasSize(THREADS).containsOnly(true);
        assertNothingIsLeft(pool, lockPool);
    }

    /** What the first lock of a service needs besides is a node; the threads wait for the one that registers it. */
    enum Node {
        REGISTERED,
        NOT_REGISTERED
    }

    @ParameterizedTest
    @EnumSource
    void threadsThatHaveAllConnectionsAreToldSoWhenTheyWantALock(Node node) throws Exception {
        LockService mine = service(builder -> builder.nodeLease(ofSeconds(15)));
        if (node == Node.REGISTERED) {
            mine.acquire(LockRequest.of("first")).close();
        }
        record Unavailable(LockStoreException failure, Duration after) {}
        List<Unavailable> refusals = inTransactions(() -> {
            long start = System.nanoTime();
            LockStoreException failure =
                    catchThrowableOfType(LockStoreException.class, () -> mine.acquire(ofThisThread(WAIT)));
            return new Unavailable(failure, Duration.ofNanos(System.nanoTime() - start));
        });
        assertThat(refusals).hasSize(THREADS).allSatisfy(refused -> {
            assertThat(refused.failure())
                    .isNotNull()
                    .hasMessageContaining("in use")
                    .hasMessageContaining("holdfast.datasource.maximum-pool-size")
                    .hasMessageContaining("enlarge the pool");
            // A thread that came to the pool at the end of its wait time waits there once more. The rest is for a busy
            // machine.
            assertThat(refused.after())
                    .isBetween(WAIT, WAIT.plus(CONNECTION_TIMEOUT).plusSeconds(10));
        });
        assertThat(refusals.stream().map(refused -> refused.failure().getMessage()))
                .filteredOn(message -> message.contains("in a transaction"))
                .hasSizeGreaterThanOrEqualTo(node == Node.REGISTERED ? THREADS : 1);
        assertNothingIsLeft(pool);
        try (LockHandle lock = mine.acquire(LockRequest.of("afterwards").waitAtMost(SOON))) {
            long beats = beats();
            await().atMost(SOON).until(() -> beats() > beats);
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void waitingThreadsHaveNoConnection() throws Exception {
        WatchedDataSource watched = new WatchedDataSource(database.pool(config -> config.setMaximumPoolSize(3)));
        LockService mine = services.build(
                watched,
                builder -> builder.application(MINE).nodeLease(ofSeconds(3)).withoutHousekeeping());
        mine.acquire(LockRequest.of("first")).close();
        LockHandle held = theirs.acquire(LockRequest.of("hot"));
        List<Future<?>> waiting = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            waiting.add(workers.submit(() -> {
                mine.acquire(LockRequest.of("hot").waitAtMost(ofSeconds(60))).close();
                return null;
            }));
        }
        await().atMost(SOON).until(() -> mine.admin().waiting() == 8);
        int unused = watched.mostInUse();
        int before = watched.given();
        for (int beat = 0; beat < 2; beat++) {
            long beats = beats();
            await().atMost(SOON).pollInterval(ofMillis(100)).until(() -> beats() > beats);
        }
        assertThat(watched.given() - before)
                .as("the first in the queue looks, and the heartbeat beats")
                .isGreaterThan(2);
        boolean canListen = !database.kind().name().startsWith("H2");
        assertThat(watched.mostInUse())
                .as("one that looks or beats, and one that listens")
                .isBetween(1, canListen ? 3 : 2);
        held.release();
        for (Future<?> waiter : waiting) {
            waiter.get(60, TimeUnit.SECONDS);
        }
        await().atMost(SOON).until(() -> watched.inUse() == (canListen ? 1 : 0));
        mine.close();
        await().atMost(SOON).until(() -> watched.inUse() == 0);
    }
}
