package io.github.holdfast.repository;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.store.LateTable;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.text.Normalizer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.hibernate.SessionFactory;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.hibernate.tool.schema.Action;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/** The tables, made in each of the ways that Holdfast offers. */
@OnEachDatabase
public class SchemaTest {

    private Database database;

    @BeforeEach
    void emptyDatabase(Database injected) {
        database = injected;
        database.execute(
                "drop table if exists distributed_lock, lock_node, lock_audit, lock_run, lock_holder, lock_waiter,"
                        + " DATABASECHANGELOG, DATABASECHANGELOGLOCK");
    }

    @Test
    void changelogMakesTheTablesOfTheSql() throws Exception {
        runChangelog(new SchemaTestLiquibase());

        assertThat(SchemaTestDescription.of(database)).isNotEmpty().isEqualTo(tablesOfTheSql());
        assertThat(changeSetsThatAre("EXECUTED")).isEqualTo(changeSets());
    }

    @Test
    void changelogMakesTheSameTablesWithLiquibase4() throws Exception {
        runChangelog(SchemaTestLiquibase.ofVersion4());

        assertThat(SchemaTestDescription.of(database)).isNotEmpty().isEqualTo(tablesOfTheSql());
        assertThat(changeSetsThatAre("EXECUTED")).isEqualTo(changeSets());
        assertThat(database.queryForString("select min(liquibase) from DATABASECHANGELOG"))
                .startsWith("4.33");
    }

    @Test
    void changelogIsDoneAfterItsFirstRun() throws Exception {
        runChangelog(new SchemaTestLiquibase());
        insert("job");
        runChangelog(new SchemaTestLiquibase());

        assertThatTheRowsAreThere();
        assertThat(changeSetsThatAre("EXECUTED")).isEqualTo(changeSets());
    }

    @Test
    void changelogIsDoneAfterAnUpgradeOfLiquibase() throws Exception {
        runChangelog(SchemaTestLiquibase.ofVersion4());
        insert("job");
        runChangelog(new SchemaTestLiquibase());

        assertThatTheRowsAreThere();
        assertThat(changeSetsThatAre("EXECUTED")).isEqualTo(changeSets());
    }

    @Test
    void changelogLeavesTablesAlone() throws Exception {
        runSql(database);
        insert("job");
        List<String> before = SchemaTestDescription.of(database);
        runChangelog(new SchemaTestLiquibase());

        assertThat(changeSetsThatAre("MARK_RAN")).isEqualTo(changeSets());
        assertThat(SchemaTestDescription.of(database)).isEqualTo(before);
        assertThatTheRowsAreThere();
    }

    @Test
    void dryRunOfTheChangelogPrintsWhatIsMissing() throws Exception {
        assertThat(changesIn(dryRun())).hasSize((int) changeSets());

        runSql(database);
        assertThat(changesIn(dryRun())).isEmpty();
    }

    /** There, Liquibase cannot check a precondition. */
    @Test
    void dryRunWithoutADatabasePrintsEverything(@TempDir Path directory) throws Exception {
        String url = "offline:" + product() + "?changeLogFile=" + directory.resolve("log.csv");

        assertThat(changesIn(SchemaTestLiquibase.dryRun(url))).hasSize((int) changeSets());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "lock_node drop column waits_until",
                "distributed_lock drop column guard_count",
                "lock_node drop column lease_millis"
            })
    void changelogAddsTheColumnThatTablesOfAnEarlierTimeLack(String difference) throws Exception {
        runSql(database);
        insert("job");
        database.execute("alter table " + difference);
        runChangelog(new SchemaTestLiquibase());

        assertThat(changeSetsThatAre("MARK_RAN")).isEqualTo(changeSets() - 1);
        assertThat(changeSetsThatAre("EXECUTED")).isEqualTo(1);
        validate();
        assertThatTheRowsAreThere();
    }

    @Test
    void createIfMissingMakesTheTablesOfTheSql() throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();

        assertThat(SchemaTestDescription.of(database)).isNotEmpty().isEqualTo(tablesOfTheSql());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void validateNamesWhatIsMissing(boolean autoCommit) {
        HikariDataSource pool = database.pool(config -> config.setAutoCommit(autoCommit));
        LockSchema schema = LockSchema.on(pool);
        assertThatIllegalStateException()
                .isThrownBy(schema::validate)
                .withMessageContaining("these tables are missing: distributed_lock, lock_node, lock_audit,"
                        + " lock_run, lock_holder, lock_waiter.")
                .withMessageContaining("db/holdfast/");
        schema.createIfMissing();
        schema.validate();
        database.execute("drop table lock_node");

        assertThatIllegalStateException()
                .isThrownBy(schema::validate)
                .withMessageContaining("these tables are missing: lock_node.");
        pool.close();
    }

    @Test
    void createIfMissingLeavesTablesAlone() {
        LockSchema schema = LockSchema.on(database.dataSource());
        schema.createIfMissing();
        insert("job");

        assertThat(schema.createIfMissing()).isEmpty();
        assertThatTheRowsAreThere();
    }

    @ParameterizedTest
    @ValueSource(strings = {"lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter"})
    void createIfMissingMakesOnlyTheMissingTable(String table) {
        LockSchema schema = LockSchema.on(database.dataSource());
        schema.createIfMissing();
        insert("job");
        database.execute("drop table " + table);

        assertThat(schema.createIfMissing()).containsExactly(table);
        assertThat(database.queryForLong("select count(*) from " + table)).isZero();
        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isEqualTo(1);
    }

    @RepeatedTest(10)
    void manyNodesMayCreateAtTheSameTime() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(8);
        CyclicBarrier start = new CyclicBarrier(8);
        try (HikariDataSource autoCommit = database.pool(pool -> pool.setMaximumPoolSize(4));
                HikariDataSource noAutoCommit = database.pool(pool -> {
                    pool.setMaximumPoolSize(4);
                    pool.setAutoCommit(false);
                })) {
            List<Callable<List<String>>> nodes = new ArrayList<>();
            for (int node = 0; node < 8; node++) {
                DataSource dataSource = node % 2 == 0 ? autoCommit : noAutoCommit;
                nodes.add(() -> {
                    dataSource.getConnection().close();
                    start.await(30, TimeUnit.SECONDS);
                    return LockSchema.on(dataSource).createIfMissing();
                });
            }
            List<String> created = new ArrayList<>();
            for (Future<List<String>> node : threads.invokeAll(nodes)) {
                created.addAll(node.get());
            }
            assertThat(created)
                    .as("each table by one node")
                    .containsExactlyInAnyOrder(
                            "distributed_lock", "lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter");
        } finally {
            threads.shutdown();
        }
        insert("job");
        assertThatTheRowsAreThere();
    }

    /** As PostgreSQL answers when another session has just committed the table, and this one has not noticed its name yet. */
    @Test
    void aTableThatAnotherNodeCreatesIsWaitedFor() throws Exception {
        try (Connection connection = database.dataSource().getConnection()) {
            String creation = SchemaScript.of(connection, MappedNames.PLAIN).creationOf("lock_audit");
            LateTable late = new LateTable("lock_audit", () -> database.execute(creation));
            assertThat(LockSchema.on(new SingleConnectionDataSource(late.of(connection), true))
                            .createIfMissing())
                    .containsExactlyInAnyOrder(
                            "distributed_lock", "lock_node", "lock_run", "lock_holder", "lock_waiter");
            assertThat(late.looks()).isEqualTo(4);
        }
        insert("job");
        assertThatTheRowsAreThere();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void connectionIsGivenBackAsItCame(boolean autoCommit) throws Exception {
        try (Connection connection = database.dataSource().getConnection()) {
            connection.setAutoCommit(autoCommit);
            LockSchema.on(new SingleConnectionDataSource(connection, true)).createIfMissing();

            assertThat(connection.getAutoCommit()).isEqualTo(autoCommit);
            insert("job");
            assertThatTheRowsAreThere();
        }
    }

    @Test
    void needsNoRightToCreateWhereTheTablesExist() throws Exception {
        runSql(database);

        LockSchema.on(withoutTheRightToCreate()).createIfMissing();
    }

    @Test
    void saysWhatToDoWhereItMayNotCreate() {
        LockSchema schema = LockSchema.on(withoutTheRightToCreate());

        // Elsewhere the connection is read-only, and then another user would not help.
        List<String> advice = database.kind().isH2() ? List.of("db/holdfast/h2.sql", LockSchema.CHANGELOG) : List.of();
        Problem problem = database.kind().isH2() ? Problem.MISSING_RIGHT : Problem.READ_ONLY;
        assertThatThrownBy(schema::createIfMissing)
                .isInstanceOfSatisfying(
                        DatabaseSetupException.class,
                        failure -> assertThat(failure.problem()).isEqualTo(problem))
                .hasMessageContainingAll("distributed_lock", database.version())
                .hasMessageMatching("(?is).*could not be created: .*(not enough rights|read.only).*")
                .satisfies(failure -> advice.forEach(line -> assertThat(failure).hasMessageContaining(line)));
    }

    @Test
    void hibernateValidatesTheTables() throws Exception {
        runSql(database);
        validate();
    }

    @ParameterizedTest
    @ValueSource(strings = {"lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter"})
    void hibernateValidatesTheTablesOfTheChangelog(String table) throws Exception {
        runChangelog(new SchemaTestLiquibase());
        validate();

        database.execute("drop table " + table);
        assertThatThrownBy(this::validate).hasStackTraceContaining(table);
    }

    /** Hibernate can use entities that are not public, and their keys. */
    @Test
    void queriesWriteAndReadHoldersAndWaiters() throws Exception {
        runSql(database);
        try (SessionFactory unit = unit(Action.NONE)) {
            unit.inTransaction(session -> {
                session.createMutationQuery("insert into HoldfastHolder"
                                + " (name, fencingToken, owner, nodeId, permits, acquiredAt, expiresAt, holder)"
                                + " values ('job', 12, 'me', null, 1, :now, :now, null)")
                        .setParameter("now", Instant.EPOCH)
                        .executeUpdate();
                session.createMutationQuery("insert into HoldfastWaiter"
                                + " (name, since, id, nodeId, mode, permits, fair, holder)"
                                + " values ('job', 7, 'waiter', 'node', 'X', 1, true, 'host')")
                        .executeUpdate();
            });
            unit.inTransaction(session -> {
                assertThat(session.createSelectionQuery("from HoldfastHolder", Object.class)
                                .getResultList())
                        .hasSize(1);
                assertThat(session.createSelectionQuery("from HoldfastWaiter", Object.class)
                                .getResultList())
                        .hasSize(1);
                assertThat(session.createSelectionQuery(
                                        "select concat(w.id, w.mode, w.nodeId) from HoldfastWaiter w"
                                                + " where w.name = 'job' and w.since = 7 and w.fair = true",
                                        String.class)
                                .getSingleResult())
                        .isEqualTo("waiterXnode");
                assertThat(session.createMutationQuery("delete from HoldfastWaiter where name = 'job'")
                                .executeUpdate())
                        .isEqualTo(1);
            });
        }
    }

    @Test
    void identifiersAreComparedByteByByte() throws Exception {
        runSql(database);
        String identifier = "job \u00e9t\u00e9 stra\u00dfe \ud83d\ude00";
        List<String> others = List.of(
                identifier.toUpperCase(Locale.ROOT),
                Normalizer.normalize(identifier, Normalizer.Form.NFD),
                identifier.replace("\u00e9", "e"),
                identifier.replace("\u00df", "ss"),
                identifier.replace("\ud83d\ude00", "\ud83d\ude01"),
                identifier.replace(" ", "  "),
                identifier.replace(" ", "\u200b "),
                identifier + " ",
                " " + identifier);
        insert(identifier);

        for (String other : others) {
            for (String column : List.of("name", "owner", "node_id")) {
                assertThat(count("distributed_lock where " + column, other))
                        .as(other)
                        .isZero();
            }
            assertThat(count("lock_node where id", other)).as(other).isZero();
            for (String column : List.of("id", "action", "lock_name", "owner", "node_id")) {
                assertThat(count("lock_audit where " + column, other)).as(other).isZero();
            }
            for (String column : List.of("name", "node_id")) {
                assertThat(count("lock_run where " + column, other)).as(other).isZero();
            }
            for (String column : List.of("name", "owner", "node_id")) {
                assertThat(count("lock_holder where " + column, other))
                        .as(other)
                        .isZero();
            }
            for (String column : List.of("name", "id", "node_id")) {
                assertThat(count("lock_waiter where " + column, other))
                        .as(other)
                        .isZero();
            }
        }
        others.forEach(this::insert);
        for (String other : others) {
            assertThat(count("distributed_lock where name", other)).as(other).isEqualTo(1);
            assertThatIllegalStateException().isThrownBy(() -> insert(other)).withCauseInstanceOf(SQLException.class);
        }
        assertThat(count("distributed_lock where name", identifier)).isEqualTo(1);
    }

    @Test
    void longestNameFits() throws Exception {
        runSql(database);
        insertLock("\u6f22".repeat(LockEntity.MAX_NAME_LENGTH), "\u6f22".repeat(LockEntity.MAX_OWNER_LENGTH), "node");

        assertThat(count("distributed_lock where name", "\u6f22".repeat(LockEntity.MAX_NAME_LENGTH)))
                .isEqualTo(1);
    }

    @Test
    void longestErrorFits() throws Exception {
        runSql(database);
        insertRun("job", "\u6f22".repeat(LockRun.MAX_ERROR_LENGTH));

        assertThat(count("lock_run where error", "\u6f22".repeat(LockRun.MAX_ERROR_LENGTH)))
                .isEqualTo(1);
    }

    @Test
    void longestReasonFits() throws Exception {
        runSql(database);
        insertAudit("job", "\u6f22".repeat(LockAudit.MAX_REASON_LENGTH));

        assertThat(count("lock_audit where reason", "\u6f22".repeat(LockAudit.MAX_REASON_LENGTH)))
                .isEqualTo(1);
    }

    /** As docs/operate/flyway.md says. On MySQL and MariaDB, a schema is a database, which the SQL can name. */
    @Test
    void aMigrationCanPutTheTablesIntoASchemaOfTheirOwn() throws Exception {
        assumeTrue(database.kind() == TestDatabase.POSTGRESQL);
        try (Connection migration = database.dataSource().getConnection();
                Statement statement = migration.createStatement()) {
            migration.setAutoCommit(false);
            statement.execute("create schema if not exists ops");
            statement.execute("set local search_path to ops");
            statement.execute(script());
            migration.commit();
            assertThat(tablesIn("ops")).isEqualTo(6);
            assertThat(tablesIn("public")).isZero();
            assertThat(migration.getSchema()).isEqualTo("public");
        } finally {
            database.execute("drop schema ops cascade");
        }
    }

    private long tablesIn(String schema) {
        return database.queryForLong(
                "select count(*) from pg_tables where schemaname = '" + schema + "' and tablename like '%lock%'");
    }

    private void runChangelog(Consumer<Connection> liquibase) throws SQLException {
        liquibase.accept(database.dataSource().getConnection());
    }

    private String dryRun() throws SQLException {
        return SchemaTestLiquibase.dryRun(database.dataSource().getConnection());
    }

    /** The statements of a script that change the lock tables. */
    private static List<String> changesIn(String script) {
        return script.lines()
                .filter(line -> line.matches("(?i)(create|alter) .*\\b(distributed_lock|lock_[a-z]+)\\b.*"))
                .toList();
    }

    private List<String> tablesOfTheSql() throws Exception {
        try (Database other = Database.create(database.kind())) {
            runSql(other);
            return SchemaTestDescription.of(other);
        }
    }

    private void runSql(Database target) throws IOException {
        target.executeScript(script());
    }

    private String script() throws IOException {
        try (InputStream script =
                getClass().getClassLoader().getResourceAsStream("db/holdfast/" + product() + ".sql")) {
            return new String(requireNonNull(script).readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private String product() {
        return database.kind().isH2() ? "h2" : database.kind().name().toLowerCase(Locale.ROOT);
    }

    /** Of one table each, two columns, an index, and on PostgreSQL another one. */
    private long changeSets() {
        return database.kind() == TestDatabase.POSTGRESQL ? 11 : 10;
    }

    private long changeSetsThatAre(String type) {
        return database.queryForLong("select count(*) from DATABASECHANGELOG where filename = 'holdfast/changelog'"
                + " and id like 'holdfast-%' and exectype = '" + type + "'");
    }

    private void assertThatTheRowsAreThere() {
        assertThat(database.queryForLong("select sum(version) from distributed_lock"))
                .isEqualTo(7);
        assertThat(database.queryForLong("select sum(version) from lock_node")).isEqualTo(7);
        assertThat(database.queryForLong("select sum(fencing_token) from lock_audit"))
                .isEqualTo(7);
        assertThat(database.queryForLong("select sum(period) from lock_run")).isEqualTo(7);
        assertThat(database.queryForLong("select sum(fencing_token) from lock_holder"))
                .isEqualTo(7);
        assertThat(database.queryForLong("select sum(since) from lock_waiter")).isEqualTo(7);
    }

    private DataSource withoutTheRightToCreate() {
        return database.pool(pool -> {
            switch (database.kind()) {
                case POSTGRESQL -> pool.setConnectionInitSql("set session characteristics as transaction read only");
                case MYSQL, MARIADB -> pool.setConnectionInitSql("set session transaction read only");
                case H2_MEMORY, H2_FILE, H2_TCP -> {
                    database.execute(
                            "create user if not exists guest password 'guest'",
                            "grant select on schema public to guest");
                    // Only the administrator may connect with settings in the URL.
                    pool.setJdbcUrl(database.url().replaceFirst(";.*", ""));
                    pool.setUsername("guest");
                    pool.setPassword("guest");
                }
            }
        });
    }

    private void validate() {
        unit(Action.VALIDATE).close();
    }

    private SessionFactory unit(Action schemaAction) {
        return new HibernatePersistenceConfiguration("schema")
                .managedClasses(LockEntity.ENTITIES)
                .property("jakarta.persistence.nonJtaDataSource", database.dataSource())
                .schemaToolingAction(schemaAction)
                .createEntityManagerFactory();
    }

    private void insert(String identifier) {
        insertLock(identifier, identifier, identifier);
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version) values ('" + identifier
                + "', current_timestamp, current_timestamp, false, 7)");
        insertAudit(identifier, "because");
        insertRun(identifier, "because");
        database.execute(
                "insert into lock_holder (name, fencing_token, owner, node_id, permits, acquired_at) values ('"
                        + identifier + "', 7, '" + identifier + "', '" + identifier + "', 1, current_timestamp)",
                "insert into lock_waiter (name, since, id, node_id, mode, permits, fair) values ('" + identifier
                        + "', 7, '" + identifier + "', '" + identifier + "', 'X', 1, false)");
    }

    private void insertLock(String name, String owner, String node) {
        database.execute("insert into distributed_lock (name, owner, node_id, hold_count, fencing_token, version)"
                + " values ('" + name + "', '" + owner + "', '" + node + "', 1, 7, 7)");
    }

    private void insertAudit(String identifier, String reason) {
        database.execute("insert into lock_audit"
                + " (id, action, lock_name, owner, node_id, fencing_token, done_at, done_by, reason)"
                + " values ('" + String.join("', '", Collections.nCopies(5, identifier))
                + "', 7, current_timestamp, 'somebody', '" + reason + "')");
    }

    private void insertRun(String identifier, String error) {
        database.execute(
                "insert into lock_run (name, fencing_token, period, node_id, begun_at, status, error) values ('"
                        + identifier + "', 7, 7, '" + identifier + "', current_timestamp, 'RUNNING', '" + error + "')");
    }

    private long count(String condition, String value) {
        return database.queryForLong("select count(*) from " + condition + " = '" + value + "'");
    }
}
