package io.github.holdfast.repository;

import static io.github.holdfast.repository.DatabaseRisk.REPLICATED_TABLES;
import static io.github.holdfast.repository.DatabaseRisk.UNFLUSHED_COMMITS;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What PostgreSQL's catalogs say. The extensions cannot be had here: their rows are written by hand, as they are documented. Subscriptions
 * are tried on two servers.
 */
@OnDatabase(TestDatabase.POSTGRESQL)
class PostgresRisksTest {

    private static final List<String> TABLES = List.of("distributed_lock", "public.lock_node", "\"Missing\"");

    private Database database;

    @BeforeEach
    void open(Database database) throws SQLException {
        this.database = database;
        database.execute("create table if not exists distributed_lock (name text)");
    }

    @AfterEach
    void restoreCatalogs() {
        administer(
                "delete from pg_extension where extname in ('bdr', 'citus', 'pgactive', 'spock')",
                "drop table if exists pg_catalog.pg_dist_partition",
                "grant select on pg_subscription_rel to public");
    }

    private void administer(String... statements) {
        database.administer(Stream.concat(Stream.of("set allow_system_table_mods = on"), Stream.of(statements))
                .toArray(String[]::new));
    }

    private Map<DatabaseRisk, String> risks(String... settings) throws SQLException {
        try (Connection connection = database.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            for (String setting : settings) {
                statement.execute(setting);
            }
            Map<DatabaseRisk, String> risks = PostgresRisks.of(connection, TABLES);
            connection.rollback();
            return risks;
        }
    }

    private static String extension(String name) {
        return "insert into pg_extension select " + (100 + "bdr spock citus pgactive".indexOf(name)) + ", '" + name
                + "', 10, 2200, false, '1', null, null";
    }

    @Test
    void anExtensionForSeveralWritersIsFound() throws SQLException {
        assertThat(risks()).doesNotContainKey(REPLICATED_TABLES);
        for (String name : List.of("spock", "bdr", "pgactive")) {
            administer(extension(name));
            assertThat(risks().get(REPLICATED_TABLES)).contains("the extension " + name);
        }
    }

    @Test
    void citusIsFoundIfItHasDistributedATable() throws SQLException {
        administer(
                extension("citus"),
                "create table pg_catalog.pg_dist_partition (logicalrelid regclass)",
                "grant select on pg_catalog.pg_dist_partition to public",
                "insert into pg_dist_partition values ('pg_class')");
        assertThat(risks()).doesNotContainKey(REPLICATED_TABLES);

        administer("insert into pg_dist_partition values ('distributed_lock')");
        assertThat(risks().get(REPLICATED_TABLES)).startsWith("Citus has distributed");
    }

    @Test
    void aUserWithoutTheRightToReadACatalogIsNotRefused() throws SQLException {
        administer("revoke select on pg_subscription_rel from public");

        assertThat(risks()).doesNotContainKey(REPLICATED_TABLES);
    }

    @Test
    void settingsThatDoNotFlushAreNamed() throws SQLException {
        assertThat(risks("set local synchronous_commit = off").get(UNFLUSHED_COMMITS))
                .contains("synchronous_commit=off");
        assertThat(risks("set local synchronous_commit = local").getOrDefault(UNFLUSHED_COMMITS, ""))
                .doesNotContain("synchronous_commit=");
    }
}
