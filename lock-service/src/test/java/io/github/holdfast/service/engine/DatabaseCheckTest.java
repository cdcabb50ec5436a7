package io.github.holdfast.service.engine;

import static io.github.holdfast.repository.DatabaseRisk.CLOCK_DIFFERENCE;
import static io.github.holdfast.repository.DatabaseRisk.CONCURRENT_WRITES;
import static io.github.holdfast.repository.DatabaseRisk.UNFLUSHED_COMMITS;
import static io.github.holdfast.repository.jdbc.JdbcProxies.invoke;
import static io.github.holdfast.repository.jdbc.JdbcProxies.proxy;
import static io.github.holdfast.test.TestDatabase.H2_MEMORY;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.CapturedLog;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.Services;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** How a database behaves when two connections change one row is tried before a service is built. */
@OnEachDatabase({H2_MEMORY, POSTGRESQL, MARIADB, MYSQL})
class DatabaseCheckTest {

    private static final String CHECK = "io.github.holdfast.service.engine.DatabaseCheck";

    private static final DatabaseCheck.Limits SHORT =
            new DatabaseCheck.Limits(Duration.ofMillis(300), Duration.ofMillis(10), Duration.ofMillis(10));

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
        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isZero();
    }

    private LockService build(DataSource source, DatabaseRisk... accepted) {
        return services.build(source, builder -> builder.accept(accepted));
    }

    private void refused(DataSource source, String... messages) {
        assertThatIllegalStateException().isThrownBy(() -> build(source)).withMessageContainingAll(messages);
    }

    private LockService buildOn(Consumer<HikariConfig> pool) {
        return build(services.opened(database.pool(pool)));
    }

    @Test
    void aPoolOfOneConnectionPasses() {
        buildOn(pool -> pool.setMaximumPoolSize(1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"TRANSACTION_READ_COMMITTED", "TRANSACTION_REPEATABLE_READ", "TRANSACTION_SERIALIZABLE"})
    void everySupportedIsolationPasses(String isolation) {
        for (boolean autoCommit : new boolean[] {true, false}) {
            buildOn(pool -> {
                pool.setTransactionIsolation(isolation);
                pool.setAutoCommit(autoCommit);
            });
        }
    }

    @Test
    void manyMayStartAtTheSameTime() throws Exception {
        DataSource source = services.opened(database.pool(pool -> {
            pool.setMaximumPoolSize(20);
            pool.setTransactionIsolation("TRANSACTION_REPEATABLE_READ");
        }));
        LockStore store = LockStore.open(services.unit(source));
        CountDownLatch start = new CountDownLatch(1);
        List<CompletableFuture<Void>> starting = Stream.generate(() -> CompletableFuture.runAsync(
                        () -> {
                            await().until(() -> start.getCount() == 0);
                            LockEngine.check(store, Duration.ofSeconds(1), EnumSet.of(UNFLUSHED_COMMITS));
                        },
                        task -> new Thread(task).start()))
                .limit(16)
                .toList();
        start.countDown();
        for (CompletableFuture<Void> one : starting) {
            one.get(60, TimeUnit.SECONDS);
        }
        database.execute("delete from distributed_lock where name like 'holdfast probe%'");
    }

    @Test
    void aSecondWriterThatNeitherWaitsNorFailsIsRefused() {
        DataSource source = driven(new Driver() {
            @Override
            public int update(Update update) throws Throwable {
                return isOfSecondWriter() ? 1 : update.execute();
            }
        });

        refused(source, "Two connections changed one row", "grant a lock twice");
        assertThatIllegalStateException().isThrownBy(() -> build(source, DatabaseRisk.values()));
    }

    @Test
    void countsThatAreNotTrueAreRefused() {
        DataSource source = driven(new Driver() {
            @Override
            public int update(Update update) throws Throwable {
                return Math.max(1, update.execute());
            }
        });

        refused(source, "how many rows an update has changed");
    }

    /** On H2, Holdfast locks the row before it changes it, and so the second writer would wait. */
    @ParameterizedTest
    @EnumSource
    void aConflictThatAppearsAtTheCommitIsRefusedUnlessItIsAccepted(Winner winner) {
        LockStore store = LockStore.open(services.unit(driven(new OptimisticDriver(winner))));

        if (!database.kind().isH2()) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> patiently(store, UNFLUSHED_COMMITS))
                    .withMessageContainingAll("one of them failed at its commit", "holdfast.accept=concurrent-writes");
        }
        patiently(store, UNFLUSHED_COMMITS, CONCURRENT_WRITES);
    }

    /** A loaded machine may need long for a connection, and for a statement. */
    private static void patiently(LockStore store, DatabaseRisk... accepted) {
        AtomicInteger writer = new AtomicInteger();
        Executor background =
                task -> new Thread(task, "holdfast-start-" + Math.min(2, writer.incrementAndGet())).start();
        Duration write = Duration.ofMillis(store.database().equals("H2") ? 20 : 60_000);
        new DatabaseCheck(
                        store,
                        Duration.ofSeconds(1),
                        EnumSet.copyOf(List.of(accepted)),
                        background,
                        new DatabaseCheck.Limits(Duration.ofSeconds(90), Duration.ofSeconds(60), write))
                .run();
    }

    @ParameterizedTest
    @ValueSource(ints = {-2, 2})
    void clocksThatDifferAreRefusedUnlessThatIsAccepted(int seconds) {
        DataSource source = driven(new Driver() {
            @Override
            public String sql(String sql) {
                return isOfSecondWriter() ? ahead(sql, seconds) : sql;
            }
        });

        refused(source, "clock differs by", "the clock tolerance is 100 ms", "holdfast.accept=clock-difference");
        build(source, CLOCK_DIFFERENCE);
        services.build(source, builder -> builder.clockTolerance(Duration.ofSeconds(3)));
    }

    private String ahead(String sql, int seconds) {
        String clock = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "EXECUTING_STATEMENT_START";
            case POSTGRESQL -> "clock_timestamp()";
            case MARIADB, MYSQL -> "utc_timestamp(6)";
        };
        return sql.replace(clock, "(" + clock + " + interval '" + seconds + "' second)");
    }

    @Test
    void connectionsToDifferentServersAreRefused() {
        try (Database other = Database.create(database.kind())) {
            LockSchema.on(other.dataSource()).createIfMissing();
            DataSource spread = driven(new Driver() {
                @Override
                public DataSource source() {
                    return isOfSecondWriter() ? other.dataSource() : database.dataSource();
                }
            });

            refused(spread, "does not see what another one has committed", "one server");
            assertThat(other.queryForLong("select count(*) from distributed_lock"))
                    .isZero();
        }
    }

    /** The servers of these tests do not wait for their disks. */
    @Test
    void commitsThatAreNotOnTheDiskAreReported() {
        String settings = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "";
            case POSTGRESQL -> "(fsync=off, synchronous_commit=off)";
            case MARIADB -> "(innodb_flush_log_at_trx_commit=2)";
            case MYSQL -> "(innodb_flush_log_at_trx_commit=2, sync_binlog=0)";
        };
        DataSource source = services.opened(database.pool(pool -> {
            if (database.kind() == POSTGRESQL) {
                pool.setConnectionInitSql("set synchronous_commit = off");
            }
        }));
        try (CapturedLog log = CapturedLog.of(CHECK, Level.INFO)) {
            services.opened(LockService.builder(services.unit(source)).build());
            services.opened(LockService.builder(services.unit(source))
                    .accept(UNFLUSHED_COMMITS)
                    .build());

            if (settings.isEmpty()) {
                assertThat(log.lines()).isEmpty();
            } else {
                assertThat(log.lines())
                        .extracting(Object::toString)
                        .satisfiesExactly(
                                warning -> assertThat(warning)
                                        .startsWith("[WARN] ")
                                        .contains(settings, "holdfast.accept=unflushed-commits"),
                                accepted -> assertThat(accepted)
                                        .startsWith("[INFO] Accepted (unflushed-commits): ")
                                        .contains(settings));
            }
        }
    }

    /** As a pool whose other connections are in use. */
    @Test
    void aSecondWriterWithoutAConnectionIsLeftOut() {
        DataSource source = driven(new Driver() {
            @Override
            public DataSource source() throws SQLException {
                if (isOfSecondWriter()) {
                    throw new SQLTransientConnectionException("Connection is not available, request timed out");
                }
                return database.dataSource();
            }
        });

        build(source);
    }

    /** As the commits of a primary without its synchronous standby. */
    @Test
    void aCommitThatIsNotAnsweredLeavesTheCheckOut() throws Exception {
        CountDownLatch standby = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(1);
        DataSource source = driven(new Driver() {
            @Override
            public void commit(Step commit, Step rollback) throws Throwable {
                standby.await();
                commit.run();
            }
        });
        LockStore store = LockStore.open(services.unit(source));
        Executor background = task -> new Thread(() -> {
                    task.run();
                    ended.countDown();
                })
                .start();
        try (CapturedLog log = CapturedLog.of(CHECK)) {
            new DatabaseCheck(store, Duration.ZERO, EnumSet.allOf(DatabaseRisk.class), background, SHORT).run();

            assertThat(log.lines())
                    .singleElement()
                    .satisfies(line -> assertThat(line.getFormattedMessage()).contains("is not checked"));
        }
        standby.countDown();
        ended.await();
        await().until(() -> database.queryForLong("select count(*) from distributed_lock") == 0);
    }

    private static boolean isOfSecondWriter() {
        return Thread.currentThread().getName().equals("holdfast-start-2");
    }

    /** A driver that differs from the real one in one way. */
    private interface Driver {

        /** An update of a lock's row. */
        interface Update {
            int execute() throws Throwable;
        }

        /** Something on a connection that may fail. */
        interface Step {
            void run() throws Throwable;
        }

        default @Nullable DataSource source() throws SQLException {
            return null;
        }

        default String sql(String sql) {
            return sql;
        }

        default int update(Update update) throws Throwable {
            return update.execute();
        }

        /** Whether a statement stays open although it was closed. */
        default boolean keepsStatements() {
            return false;
        }

        default void commit(Step commit, Step rollback) throws Throwable {
            commit.run();
        }
    }

    /** Which of the two writers commits first. */
    enum Winner {
        FIRST,
        SECOND
    }

    /** Both writers' changes are compared at their commits only. */
    private static final class OptimisticDriver implements Driver {

        private final Winner winner;
        private final Map<Thread, Update> pending = new ConcurrentHashMap<>();
        private volatile CountDownLatch hasWon = new CountDownLatch(1);

        OptimisticDriver(Winner winner) {
            this.winner = winner;
        }

        @Override
        public int update(Update update) {
            return pending.putIfAbsent(Thread.currentThread(), update) == null ? 1 : 0;
        }

        @Override
        public boolean keepsStatements() {
            return pending.containsKey(Thread.currentThread());
        }

        @Override
        public void commit(Step commit, Step rollback) throws Throwable {
            Update update = pending.remove(Thread.currentThread());
            if (update == null) {
                commit.run();
                return;
            }
            boolean wins = isOfSecondWriter() == (winner == Winner.SECOND);
            if (!wins) {
                boolean unused = hasWon.await(10, TimeUnit.SECONDS);
            }
            if (update.execute() == 0) {
                rollback.run();
                hasWon = new CountDownLatch(1);
                throw new SQLException("changed by another transaction", "40001");
            }
            commit.run();
            hasWon.countDown();
        }
    }

    private DataSource driven(Driver driver) {
        return proxy(DataSource.class, (proxy, method, arguments) -> {
            DataSource own = driver.source();
            Object result = invoke(own == null ? database.dataSource() : own, method, arguments);
            return result instanceof Connection connection ? driven(driver, connection) : result;
        });
    }

    private static Connection driven(Driver driver, Connection real) {
        return proxy(Connection.class, (proxy, method, arguments) -> {
            if (method.getName().equals("commit")) {
                driver.commit(real::commit, real::rollback);
                return null;
            }
            boolean prepares = method.getName().equals("prepareStatement") && arguments != null;
            String sql = prepares ? String.valueOf(arguments[0]) : "";
            if (prepares) {
                arguments[0] = driver.sql(sql);
            }
            Object result = invoke(real, method, arguments);
            return result instanceof PreparedStatement statement && sql.startsWith("update distributed_lock")
                    ? driven(driver, statement)
                    : result;
        });
    }

    private static PreparedStatement driven(Driver driver, PreparedStatement real) {
        return proxy(PreparedStatement.class, (proxy, method, arguments) -> switch (method.getName()) {
            case "executeUpdate" -> driver.update(real::executeUpdate);
            case "close" -> driver.keepsStatements() ? null : invoke(real, method, arguments);
            default -> invoke(real, method, arguments);
        });
    }
}
