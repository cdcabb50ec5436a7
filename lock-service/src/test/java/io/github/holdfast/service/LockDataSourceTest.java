package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.service.WatchedDataSource.Then;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;

/** Connections that only lock operations use: what they are good for, and that none of them is kept or changed. */
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL}) // Where connections are to a server.
class LockDataSourceTest {

    private static final Duration NODE_LEASE = ofSeconds(8);
    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest REQUEST = LockRequest.of("own-connections").waitAtMost(SOON);
    private static final LockRequest LEASED = REQUEST.lease(ofSeconds(60));

    private Database database;
    private Services services;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    /** The pool of an application that waits long for a connection. */
    private HikariDataSource poolOfTwo() {
        return database.pool(pool -> {
            pool.setMaximumPoolSize(2);
            pool.setConnectionTimeout(30_000);
        });
    }

    private HikariDataSource lockPool(Consumer<HikariConfig> customizer) {
        return database.pool(pool -> {
            pool.setMaximumPoolSize(3);
            pool.setConnectionTimeout(60_000);
            customizer.accept(pool);
        });
    }

    private static UnaryOperator<LockServiceBuilder> with(DataSource lockDataSource) {
        return builder -> alone(lockDataSource).apply(builder).nodeLease(NODE_LEASE);
    }

    /** Nothing but a heartbeat keeps a connection: on a slow machine, some wait lasts long enough to open one that listens. */
    private static UnaryOperator<LockServiceBuilder> alone(DataSource lockDataSource) {
        return builder -> builder.withoutHousekeeping().withoutWakeUp().lockDataSource(lockDataSource);
    }

    private static LockRequest once(String name) {
        return LockRequest.of(name);
    }

    private static void assertAllGivenBack(HikariDataSource pool) {
        // A heartbeat may be using one.
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(pool.getHikariPoolMXBean().getActiveConnections())
                        .isZero());
    }

    // A pool that is in use

    @Test
    void locksAreKeptAndTakenWhileTheApplicationHasItsWholePoolInUse() throws Exception {
        HikariDataSource pool = poolOfTwo();
        HikariDataSource lockPool = lockPool(config -> {});
        LockService mine = services.build(pool, with(lockPool));
        LockService theirs = services.open();
        LockHandle lock = mine.acquire(REQUEST);
        try (Connection one = pool.getConnection();
                Connection other = pool.getConnection()) {
            // A beat may be late on a busy machine, and then the lock is suspect for a moment.
            await().during(NODE_LEASE.plusSeconds(1))
                    .atMost(SOON)
                    .until(() -> lock.state() != LockState.LOST
                            && theirs.tryAcquire(once(REQUEST.name())).isEmpty());
            mine.acquire(LockRequest.of("another")).close();
            mine.acquire(LockRequest.of("leased").lease(ofSeconds(60))).close();
            lock.renew(NODE_LEASE);
            assertThat(mine.find(REQUEST.name())).isPresent();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(2);
            assertThat(pool.getHikariPoolMXBean().getThreadsAwaitingConnection())
                    .isZero();
        }
        assertAllGivenBack(lockPool);
    }

    @Test
    void withoutConnectionsOfItsOwnTheHolderIsToldOfTheLossOnTimeAlthoughTheHeartbeatWaitsForOne() throws Exception {
        HikariDataSource pool = poolOfTwo();
        LockService mine =
                services.build(pool, builder -> builder.nodeLease(NODE_LEASE).withoutHousekeeping());
        LockService theirs = services.open();
        CompletableFuture<LossCause> cause = new CompletableFuture<>();
        LockHandle lock = mine.acquire(REQUEST).onLost(loss -> cause.complete(loss.cause()));
        try (Connection one = pool.getConnection();
                Connection other = pool.getConnection()) {
            await().atMost(SOON).until(() -> lock.state() == LockState.SUSPECT);
            LockHandle next = theirs.acquire(REQUEST);
            assertThat(lock.state()).as("when another service has it").isEqualTo(LockState.LOST);
            await().atMost(SOON)
                    .untilAsserted(() -> assertThat(cause).isCompletedWithValue(LossCause.DATABASE_UNREACHABLE));
            assertThat(pool.getHikariPoolMXBean().getThreadsAwaitingConnection())
                    .as("the heartbeat's")
                    .isPositive();
            next.close();
        }
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        mine.acquire(REQUEST).close();
        assertAllGivenBack(pool);
    }

    // Every connection comes back as it was

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void everyOperationGivesItsConnectionBackAsItCame(boolean autoCommit) throws Exception {
        HikariDataSource lockPool = lockPool(config -> config.setAutoCommit(autoCommit));
        WatchedDataSource watched = new WatchedDataSource(lockPool);
        try (LockService mine = services.build(poolOfTwo(), with(watched))) {
            assertThat(watched.inUse()).isZero();
            everyOperation(mine, services.open());
        }
        await().atMost(SOON).until(() -> watched.inUse() == 0);
        assertThat(watched.changed()).isZero();
        assertAllGivenBack(lockPool);
    }

    private static void everyOperation(LockService mine, LockService theirs) throws Exception {
        LockHandle nodeHeld = mine.acquire(REQUEST);
        LockHandle nested = mine.acquire(REQUEST);
        LockHandle leased = mine.acquire(LockRequest.of("leased").lease(ofSeconds(60)));
        LockHandle chosen = mine.acquire(LockRequest.of("chosen").owner("me"));
        LockHandle again = mine.acquire(LockRequest.of("chosen").owner("me"));
        nodeHeld.renew(NODE_LEASE);
        leased.renew(ofSeconds(90));
        nodeHeld.ensureValidFor(NODE_LEASE.minusSeconds(1));
        assertThat(mine.find("leased")).isPresent();
        assertThat(mine.find("nothing")).isEmpty();
        assertThat(mine.admin().held("", 10)).hasSize(3);
        assertThat(mine.admin().nodes("", 10)).isNotEmpty();
        for (LockHandle handle : new LockHandle[] {nested, nodeHeld, again, chosen}) {
            assertThat(handle.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.STILL_HELD);
        }
        try (LockHandle held = theirs.acquire(REQUEST)) {
            assertThat(mine.tryAcquire(once(REQUEST.name()))).isEmpty();
            assertThat(mine.admin().forceRelease(REQUEST.name(), "for the test"))
                    .isPresent();
            assertThat(held.release()).isEqualTo(ReleaseOutcome.LOST);
        }
        mine.admin().housekeep();
        mine.acquire(LockRequest.of("left to close"));
        mine.acquire(LockRequest.of("left to close, leased").lease(ofSeconds(60)));
    }

    /** For the one who waits for it, a commit that lands later is the same as one whose answer is lost. */
    @ParameterizedTest
    @EnumSource(value = Fault.class, mode = EnumSource.Mode.EXCLUDE, names = "DELAYED")
    void whereverTheConnectionBreaksItIsGivenBack(Fault fault) throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        HikariDataSource lockPool = lockPool(config -> config.setDataSource(faults));
        WatchedDataSource watched = new WatchedDataSource(lockPool);
        try (LockService mine = services.build(poolOfTwo(), alone(watched))) {
            acquireAndRelease(mine);
            int step = 0;
            do {
                faults.arm(++step, fault);
                acquireAndRelease(mine);
                // What is left open is settled by a thread of the service.
                await().atMost(SOON).until(() -> watched.inUse() == 0);
                assertThat(lockPool.getHikariPoolMXBean().getActiveConnections())
                        .isZero();
            } while (faults.fired());
            assertThat(step).isGreaterThan(8);
            assertThat(watched.changed()).isZero();
            acquireAndRelease(mine);
        }
        assertAllGivenBack(lockPool);
    }

    /** Whatever comes of it. */
    private static void acquireAndRelease(LockService mine) throws InterruptedException {
        for (LockRequest request :
                new LockRequest[] {REQUEST, LockRequest.of("chosen").owner("me")}) {
            try {
                LockHandle lock = mine.acquire(request.waitAtMost(ofMillis(500)));
                mine.find(request.name());
                lock.release();
            } catch (HoldfastException broken) {
                assertThat(broken).hasMessageContaining(request.name());
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Then.class)
    void whateverCallFailsTheConnectionIsGivenBack(Then then) throws Exception {
        HikariDataSource lockPool = lockPool(config -> {});
        WatchedDataSource watched = new WatchedDataSource(lockPool);
        try (LockService mine = services.build(poolOfTwo(), alone(watched))) {
            mine.acquire(REQUEST).close();
            for (String call :
                    new String[] {"getConnection", "getAutoCommit", "setAutoCommit", "prepareStatement", "commit"}) {
                watched.failNext(call, then);
                acquireAndRelease(mine);
                assertThat(watched.hasFailed()).as(call).isTrue();
                await(call).atMost(SOON).until(() -> watched.inUse() == 0);
                assertThat(lockPool.getHikariPoolMXBean().getActiveConnections())
                        .as(call)
                        .isZero();
                try (Connection next = lockPool.getConnection()) {
                    assertThat(next.getAutoCommit()).as(call).isTrue();
                }
            }
            acquireAndRelease(mine);
        }
    }

    /** The connection is well then, and a pool that does not look itself would give it to the next one as it is. */
    @Test
    void aConnectionWhoseCommitWasRefusedComesBackAsItCame() throws Exception {
        WatchedDataSource watched = new WatchedDataSource(lockPool(config -> {}));
        LockService mine = services.build(poolOfTwo(), alone(watched));
        watched.failNext("commit", Then.GOES_ON);
        acquireAndRelease(mine);
        assertThat(watched.hasFailed()).isTrue();
        await().atMost(SOON).until(() -> watched.inUse() == 0);
        assertThat(watched.changed()).isZero();
    }

    /** The database has committed then; what could not be closed is the pool's trouble. */
    @Test
    void aLockIsAcquiredAlthoughItsConnectionCannotBeClosed() throws Exception {
        WatchedDataSource watched = new WatchedDataSource(lockPool(config -> {}));
        LockService mine = services.build(poolOfTwo(), alone(watched));
        watched.failNext("close", Then.GOES_ON);
        try (CapturedLog log = CapturedLog.of(Class.forName("io.github.holdfast.repository.jdbc.AutocommitExecutor"));
                LockHandle lock = mine.acquire(LEASED)) {
            assertThat(log.lines()).hasSize(1);
            assertThat(watched.hasFailed()).isTrue();
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
        assertThat(watched.inUse()).isZero();
    }

    @Test
    void whileItsOwnPoolIsInUseAnAcquisitionFailsWithinItsWaitTimeAndOneConnectionTimeout() throws Exception {
        HikariDataSource lockPool = lockPool(config -> {
            config.setMaximumPoolSize(1);
            config.setConnectionTimeout(20_000);
        });
        LockService mine = services.build(poolOfTwo(), with(lockPool));
        try (Connection taken = lockPool.getConnection()) {
            long start = System.nanoTime();
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() -> mine.acquire(LEASED.waitAtMost(ofMillis(500))))
                    .withMessageContaining(LEASED.name());
            // Two connection timeouts would be 40 s. The rest of that is for a slow machine.
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(ofSeconds(40));
        }
        mine.acquire(LEASED).close();
        assertAllGivenBack(lockPool);
    }

    // The same database

    @Test
    void anotherDatabaseIsRefusedAndKeepsNoTrace() throws Exception {
        try (Database elsewhere = Database.create(database.kind())) {
            LockSchema.on(elsewhere.dataSource()).createIfMissing();
            HikariDataSource lockPool = elsewhere.pool(config -> {});
            assertRefused(lockPool);
            assertThat(elsewhere.queryForLong("select count(*) from distributed_lock"))
                    .isZero();
            assertThat(elsewhere.queryForLong("select count(*) from lock_node")).isZero();
        }
    }

    @Test
    void anotherSchemaIsRefusedAndKeepsNoTrace() throws Exception {
        String schema = "elsewhere";
        String url = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> database.url() + ";SCHEMA=ELSEWHERE";
            case POSTGRESQL -> database.url() + (database.url().contains("?") ? "&" : "?") + "currentSchema=" + schema;
            // There, a schema is a database.
            case MARIADB, MYSQL -> "";
        };
        if (!url.isEmpty()) {
            database.execute("create schema " + schema);
            HikariDataSource lockPool = lockPool(config -> config.setJdbcUrl(url));
            LockSchema.on(lockPool).createIfMissing();
            assertRefused(lockPool);
            assertThat(database.queryForLong("select count(*) from elsewhere.distributed_lock"))
                    .isZero();
        }
    }

    private void assertRefused(HikariDataSource lockPool) throws Exception {
        HikariDataSource pool = poolOfTwo();
        assertThatIllegalStateException()
                .isThrownBy(() -> services.build(pool, with(lockPool)))
                .withMessageContaining("lock data source")
                .withMessageContaining("another database or schema");
        assertAllGivenBack(pool);
        assertAllGivenBack(lockPool);
        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isZero();
    }

    @Test
    void anotherDatabaseWithoutTheTablesIsRefused() throws Exception {
        try (Database elsewhere = Database.create(database.kind())) {
            HikariDataSource lockPool = elsewhere.pool(config -> {});
            assertThatIllegalStateException()
                    .isThrownBy(() -> services.build(poolOfTwo(), with(lockPool)))
                    .withMessageContaining("another database or schema than the persistence unit")
                    .withMessageMatching("(?is).*(distributed_lock|lock_holder).*");
            assertAllGivenBack(lockPool);
        }
    }

    @Test
    void theCheckOfTheDatabaseLeavesNoRow() throws Exception {
        services.build(poolOfTwo(), with(lockPool(config -> {})));
        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isZero();
    }

    // What the persistence unit must say

    @Test
    void lockPoolMustGiveConnectionsInTheModeThatThePersistenceUnitExpects() throws Exception {
        HikariDataSource pool = database.pool(config -> config.setAutoCommit(false));
        try (EntityManagerFactory unit = unitThatExpectsNoAutoCommit(pool)) {
            HikariDataSource wrong = lockPool(config -> config.setAutoCommit(true));
            assertThatIllegalStateException()
                    .isThrownBy(() ->
                            LockService.builder(unit).lockDataSource(wrong).build())
                    .withMessageContaining(AvailableSettings.CONNECTION_PROVIDER_DISABLES_AUTOCOMMIT)
                    .withMessageContaining("autoCommit");
            assertAllGivenBack(wrong);

            HikariDataSource right = lockPool(config -> config.setAutoCommit(false));
            WatchedDataSource watched = new WatchedDataSource(right);
            LockService theirs = services.open();
            try (LockService mine =
                    with(watched).apply(LockService.builder(unit)).build()) {
                LockHandle lock = mine.acquire(REQUEST);
                assertThat(theirs.find(REQUEST.name())).as("committed").isPresent();
                lock.close();
                everyOperation(mine, theirs);
            }
            await().atMost(SOON).until(() -> watched.inUse() == 0);
            assertThat(watched.changed()).isZero();
            assertAllGivenBack(right);
        }
    }

    private static EntityManagerFactory unitThatExpectsNoAutoCommit(DataSource dataSource) {
        return PersistenceUnit.directlyOn(
                dataSource, Map.of(AvailableSettings.CONNECTION_PROVIDER_DISABLES_AUTOCOMMIT, "true"));
    }

    /** Such a one would let a lock operation run on the connection of the caller's transaction, and commit it. */
    @Test
    void lockDataSourceMustNotGiveTheConnectionOfTheCallersTransaction() {
        HikariDataSource pool = poolOfTwo();
        assertThatIllegalStateException()
                .isThrownBy(() -> services.build(pool, with(new TransactionAwareDataSourceProxy(pool))))
                .withMessageContaining("TransactionAwareDataSourceProxy");
    }
}
