package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.ReportedVersion;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.TestGuest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.hibernate.dialect.MySQLDialect;
import org.hibernate.dialect.PostgreSQLDialect;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** What is wrong with a database or a pool is said when the store is opened, and so that one can put it right. */
abstract class StartupCheckContract {

    private static final String DISABLES_AUTO_COMMIT = "hibernate.connection.provider_disables_autocommit";

    private Database database;

    @BeforeEach
    void makeTables(Database injected) {
        database = injected;
        database.execute(
                "drop table if exists distributed_lock, lock_node, lock_audit, lock_run, lock_holder, lock_waiter");
        LockSchema.on(database.dataSource()).createIfMissing();
    }

    private void open() {
        open(pool -> {}, Map.of());
    }

    private void open(Consumer<HikariConfig> customizer, Map<String, ?> properties) {
        try (HikariDataSource pool = database.pool(customizer);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, properties)) {
            LockStore.open(unit);
        }
    }

    @Test
    void leavesNothingBehind() {
        open();

        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isZero();
        assertThat(database.queryForLong("select count(*) from lock_node")).isZero();
        assertThat(database.queryForLong("select count(*) from lock_audit")).isZero();
        assertThat(database.queryForLong("select count(*) from lock_run")).isZero();
        assertThat(database.queryForLong("select count(*) from lock_holder")).isZero();
        assertThat(database.queryForLong("select count(*) from lock_waiter")).isZero();
    }

    @Test
    void persistenceUnitMustManageTheEntities() {
        refusesAUnitOf(List.of());
        for (Class<?> missing : LockEntity.ENTITIES) {
            refusesAUnitOf(LockEntity.ENTITIES.stream()
                    .filter(entity -> entity != missing)
                    .toList());
        }
    }

    private void refusesAUnitOf(List<Class<?>> managed) {
        try (EntityManagerFactory unit =
                PersistenceUnit.of(database.dataSource(), Map.of(), managed.toArray(Class<?>[]::new))) {
            assertThatThrownBy(() -> LockStore.open(unit))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll(
                            LockEntity.ENTITIES.stream().map(Class::getName).toArray(CharSequence[]::new));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"distributed_lock", "lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter"})
    void missingTableIsNamedWithItsChangelog(String table) {
        database.execute("drop table " + table);

        assertThatThrownBy(this::open)
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.failure()).isEqualTo(Failure.TABLE_MISSING))
                .hasMessageContaining(table)
                .hasMessageContaining(LockSchema.CHANGELOG);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "distributed_lock drop column permits",
                "distributed_lock drop column wanted_until",
                "lock_node drop column bell",
                "lock_node drop column waits_until",
                "lock_holder drop column holder",
                "lock_waiter drop column fair"
            })
    void missingColumnIsNamedWithTheChangelog(String difference) {
        database.execute("alter table " + difference);

        assertThatThrownBy(this::open)
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.failure()).isEqualTo(Failure.TABLE_MISSING))
                .hasMessageContaining("column")
                .hasMessageContaining(LockSchema.CHANGELOG);
    }

    @Test
    void nameMustBeByteExact() {
        for (String type : typesThatAreNot()) {
            database.execute(TestSql.typeOfNames(database.kind(), type));

            assertThatIllegalStateException()
                    .as(type)
                    .isThrownBy(this::open)
                    .withMessageContaining("distributed_lock.name")
                    .withMessageContaining("utf8mb4_0900_bin")
                    .withMessageContaining("utf8mb4_nopad_bin")
                    .withMessageContaining("\"C\"")
                    .withMessageContaining(LockSchema.CHANGELOG)
                    .satisfies(is(Problem.COLLATION));
            assertThat(database.queryForLong("select count(*) from distributed_lock"))
                    .isZero();
        }
    }

    private List<String> typesThatAreNot() {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> List.of("varchar_ignorecase(255)", "char(255)");
            case POSTGRESQL -> {
                database.execute("create collation if not exists ignore_case"
                        + " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
                yield List.of("varchar(255) collate ignore_case", "char(255)");
            }
            case MARIADB ->
                List.of(
                        "varchar(255)",
                        "varchar(255) character set utf8mb4",
                        "varchar(255) character set utf8mb4 collate utf8mb4_bin",
                        "varchar(255) character set utf8mb4 collate utf8mb4_general_nopad_ci",
                        "varchar(255) character set utf8mb3 collate utf8mb3_nopad_bin",
                        "varchar(255) character set latin1",
                        "varchar(255) character set latin1 collate latin1_bin",
                        "varchar(255) character set latin1 collate latin1_nopad_bin",
                        "varchar(255) character set ascii collate ascii_nopad_bin");
            case MYSQL ->
                List.of(
                        "varchar(255)",
                        "varchar(255) character set utf8mb4 collate utf8mb4_bin",
                        "varchar(255) character set utf8mb4 collate utf8mb4_0900_as_cs",
                        "varchar(255) character set utf8mb4 collate utf8mb4_0900_as_ci",
                        "varchar(255) character set utf8mb3 collate utf8mb3_bin",
                        "varchar(255) character set latin1",
                        "varchar(255) character set latin1 collate latin1_bin",
                        "varchar(255) character set ascii collate ascii_bin");
        };
    }

    @Test
    void poolMustNotBeReadOnly() {
        Runnable opening = () -> open(pool -> pool.setReadOnly(true), Map.of());
        if (database.kind().isH2()) {
            // H2 ignores the setting: such a pool can write.
            opening.run();
        } else {
            assertThatIllegalStateException()
                    .isThrownBy(opening::run)
                    .withMessageContaining("read-only")
                    .withMessageContaining("primary")
                    .satisfies(is(Problem.READ_ONLY));
        }
    }

    @Test
    void transactionsMustNotBeReadOnly() {
        switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> {} // There are no such sessions, nor such transactions.
            case POSTGRESQL -> assertReadOnly("set default_transaction_read_only = on");
            case MARIADB, MYSQL -> assertReadOnly("set session transaction read only");
        }
    }

    private void assertReadOnly(String setting) {
        assertThatIllegalStateException()
                .isThrownBy(() -> open(pool -> pool.setConnectionInitSql(setting), Map.of()))
                .withMessageMatching("(?is).*read.only.*to the primary database.*")
                .satisfies(is(Problem.READ_ONLY));
    }

    private static Consumer<Throwable> is(Problem problem) {
        return failure -> assertThat(Problem.of(failure)).isEqualTo(problem);
    }

    @Test
    void userMustHaveTheRightToWrite() {
        try (TestGuest guest = TestGuest.of(database, "select")) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> open(guest::connect, Map.of()))
                    .withMessageMatching("(?is).*(denied|rights).*distributed_lock.*needs write access.*")
                    .withCauseInstanceOf(StoreException.class)
                    .satisfies(is(Problem.MISSING_RIGHT));
        }
        try (TestGuest guest = TestGuest.of(database, "select, insert, update, delete")) {
            open(guest::connect, Map.of());
        }
    }

    @Test
    void poolAndPersistenceUnitMustAgreeOnAutoCommit() {
        assertThatIllegalStateException()
                .isThrownBy(() -> open(pool -> pool.setAutoCommit(true), Map.of(DISABLES_AUTO_COMMIT, true)))
                .withMessageContaining(DISABLES_AUTO_COMMIT)
                .withMessageContaining("autoCommit");

        open(pool -> pool.setAutoCommit(false), Map.of(DISABLES_AUTO_COMMIT, true));
        open(pool -> pool.setAutoCommit(false), Map.of());
    }

    @Test
    void databaseThatIsDownIsUnavailable() {
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        try (EntityManagerFactory unit = PersistenceUnit.directlyOn(faulty, Map.of())) {
            faulty.down();
            assertThatThrownBy(() -> LockStore.open(unit))
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            failure -> assertThat(failure.failure()).isEqualTo(Failure.UNAVAILABLE))
                    .satisfies(is(Problem.NOT_REACHABLE));

            faulty.up();
            LockStore.open(unit);
        }
    }

    @Test
    void wrongPasswordIsNamed() {
        DataSource wrong = new DriverManagerDataSource(database.url(), "stranger", "wrong");
        try (EntityManagerFactory unit = PersistenceUnit.directlyOn(database.dataSource(), Map.of())) {
            assertThatThrownBy(() -> LockStore.open(unit, wrong))
                    .satisfies(is(Problem.WRONG_PASSWORD))
                    .hasMessageMatching("(?is).*cannot be checked: .*\\(.*(password|denied|stranger).*\\).*");
            assertThatThrownBy(() -> LockSchema.on(wrong).validate())
                    .satisfies(is(Problem.WRONG_PASSWORD))
                    .hasMessageMatching("(?is).*cannot be reached: .*(password|denied|stranger).*");
        }
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setJdbcUrl(database.url());
            pool.setUsername("stranger");
            pool.setPassword("wrong");
            assertThatThrownBy(() -> LockSchema.on(pool).connect()).satisfies(is(Problem.WRONG_PASSWORD));
        }
    }

    @Test
    void tablesMayNotBeCreatedByEveryUser() {
        database.execute("drop table lock_waiter");
        try (TestGuest guest = TestGuest.of(database, "select", "lock_waiter")) {
            HikariConfig config = new HikariConfig();
            guest.connect(config);
            try (HikariDataSource pool = new HikariDataSource(config)) {
                assertThatThrownBy(() -> LockSchema.on(pool).createIfMissing())
                        .satisfies(is(Problem.MISSING_RIGHT))
                        .hasMessageContaining("lock_waiter");
            }
        }
    }

    @Test
    void dialectOfAnotherDatabaseIsNamed() {
        Class<?> other = database.kind() == TestDatabase.POSTGRESQL ? MySQLDialect.class : PostgreSQLDialect.class;
        assertThatIllegalStateException()
                .isThrownBy(() -> open(pool -> {}, Map.of("hibernate.dialect", other.getName())))
                .withMessageContaining(other.getName())
                .satisfies(is(Problem.DIALECT));
    }

    @Test
    void poolWithoutAFreeConnectionIsExhausted() throws Exception {
        try (HikariDataSource pool = database.pool(config -> {
                    config.setMaximumPoolSize(1);
                    config.setConnectionTimeout(300);
                });
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of())) {
            try (Connection inUse = pool.getConnection()) {
                assertThatThrownBy(() -> LockStore.open(unit))
                        .hasMessageContaining("lockDataSource")
                        .isInstanceOfSatisfying(
                                StoreException.class,
                                failure -> assertThat(failure.failure()).isEqualTo(Failure.EXHAUSTED))
                        .satisfies(is(Problem.EXHAUSTED));
            }
            LockStore.open(unit);
        }
    }

    @Test
    void databasesOfManyClocksAreRefusedByName() {
        Map<String, String> versions = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> Map.of();
            case POSTGRESQL -> Map.of("YugabyteDB", "15.2-YB-2.25.1.0-b0");
            case MARIADB, MYSQL ->
                Map.of(
                        "TiDB", "8.0.11-TiDB-v8.5.0",
                        "Vitess", "8.0.30-Vitess",
                        "OceanBase", "5.7.25-OceanBase-v4.3.5.0");
        };
        versions.forEach((name, version) -> {
            DataSource unsuitable = ReportedVersion.of(database.dataSource(), version);
            try (EntityManagerFactory unit = PersistenceUnit.directlyOn(unsuitable, Map.of())) {
                assertThatIllegalStateException()
                        .isThrownBy(() -> LockStore.open(unit))
                        .withMessageContaining("does not support " + name)
                        .withMessageContaining("by its own clock");
            }
            assertThatIllegalStateException()
                    .isThrownBy(() -> LockSchema.on(unsuitable).createIfMissing())
                    .withMessageContaining("does not support " + name);
        });
    }

    /** H2 does not even show a row always, while another transaction changes it. */
    @Test
    void readUncommittedIsRefused() {
        assertThatIllegalStateException()
                .isThrownBy(() -> open(pool -> pool.setTransactionIsolation("TRANSACTION_READ_UNCOMMITTED"), Map.of()))
                .withMessageContaining("READ UNCOMMITTED");
    }

    @Test
    void manyMayOpenAtTheSameTime() throws Exception {
        try (HikariDataSource pool = database.pool(config -> {});
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of());
                TestThreads threads = new TestThreads()) {
            threads.together(8, () -> LockStore.open(unit));
        }
    }
}
