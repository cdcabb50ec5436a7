package io.github.holdfast.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import example.OurTenConnections;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.sources.ProjectDirectory;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.hibernate.boot.model.naming.Identifier;
import org.hibernate.boot.model.naming.PhysicalNamingStrategyStandardImpl;
import org.hibernate.engine.jdbc.env.spi.JdbcEnvironment;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** The class that the documentation shows passes on each database that Holdfast is for. */
class OwnDatabaseTest {

    private static final Path SOURCE = Path.of("src/test/java/example/OurDatabaseTest.java");

    @Nested
    @OnDatabase(TestDatabase.H2_MEMORY)
    class OnH2 extends DocumentedClass {}

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgresql extends DocumentedClass {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends DocumentedClass {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMysql extends DocumentedClass {}

    abstract static class DocumentedClass {

        private static final List<String> TABLES =
                List.of("distributed_lock", "lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter");

        @Test
        void passesOnTenConnectionsAndLeavesNothingBehind(Database database) throws Exception {
            ContractRun run = ContractRun.of(documented(database, OurTenConnections.class));
            OurTenConnections.close();
            assertThat(run.failed()).isEmpty();
            assertThat(run.passed()).containsExactlyInAnyOrderElementsOf(tests());
            assertThat(tables(database))
                    .as("tables that the contract has created")
                    .isZero();
        }

        @Test
        void leavesTablesThatWereThereAndOthersRows(Database database) throws Exception {
            LockSchema.on(database.dataSource()).createIfMissing();
            database.execute("insert into distributed_lock (name, hold_count, fencing_token, version)"
                    + " values ('somebody''s', 0, 1, 1)");
            try {
                assertThat(ContractRun.of(documented(database, documentedClass()), "aTaskRunsOnceInAPeriod")
                                .passed())
                        .hasSize(1);
                assertThat(database.queryForLong("select count(*) from distributed_lock"))
                        .isEqualTo(1);
                assertThat(database.queryForLong("select count(*) from lock_run"))
                        .isZero();
                assertThat(database.queryForLong("select count(*) from lock_node"))
                        .isZero();
            } finally {
                TABLES.forEach(table -> database.execute("drop table " + table));
            }
        }

        @Test
        void theTablesHaveTheNamesOfTheUsersUnit(Database database) {
            ContractRun run = ContractRun.of(documented(database, WithNamingStrategy.class), "aTaskRunsOnceInAPeriod");
            assertThat(run.failed()).isEmpty();
            assertThat(run.passed()).hasSize(1);
            assertThat(tables(database)).isZero();
            assertThat(
                            database.queryForLong(
                                    "select count(*) from information_schema.tables where lower(table_name) like '%lock%$_app' escape '$'"))
                    .as("tables that the contract has created")
                    .isZero();
        }

        @Test
        void aRefusedRunLeavesNoTables(Database database) {
            IllegalStateException refused = new IllegalStateException("refused");
            assertThatThrownBy(() -> new DatabaseUnderTest(database.dataSource(), Map.of(), builder -> {
                        throw refused;
                    }))
                    .isSameAs(refused)
                    .hasNoSuppressedExceptions();
            assertThat(tables(database)).isZero();
        }

        /** The class, with this database as the user's. */
        private static Class<? extends LockContract> documented(
                Database database, Class<? extends LockContract> documentedClass) {
            System.setProperty("holdfast.contract.url", database.url());
            System.setProperty("holdfast.contract.user", database.user());
            System.setProperty("holdfast.contract.password", database.password());
            return documentedClass;
        }

        private static List<String> tests() {
            return Stream.of(LockContract.class, SharingContract.class, WaitingContract.class)
                    .flatMap(contract -> Arrays.stream(contract.getDeclaredMethods()))
                    .filter(method -> method.isAnnotationPresent(Test.class))
                    .map(Method::getName)
                    .toList();
        }

        private static long tables(Database database) {
            return database.queryForLong("select count(*) from information_schema.tables where lower(table_name) in ('"
                    + String.join("', '", TABLES) + "')");
        }
    }

    static class WithNamingStrategy extends LockContract {
        @Override
        protected Map<String, String> properties() {
            return Map.of(
                    "hibernate.physical_naming_strategy",
                    WithSuffix.class.getName(),
                    "hibernate.hbm2ddl.auto",
                    "validate");
        }
    }

    public static final class WithSuffix extends PhysicalNamingStrategyStandardImpl {

        private static final long serialVersionUID = 1L;

        @Override
        public Identifier toPhysicalTableName(Identifier logical, JdbcEnvironment environment) {
            return new Identifier(logical.getText() + "_app", logical.isQuoted());
        }
    }

    @Test
    void withoutADatabaseItSaysWhatToSet() throws Exception {
        System.clearProperty("holdfast.contract.url");
        assertThat(ContractRun.of(documentedClass()).failed().values())
                .anySatisfy(message -> assertThat(message).contains("holdfast.contract.url", "dataSource()"));
    }

    @Test
    void aUrlMayContainTheUserAndThePassword() throws Exception {
        System.setProperty("holdfast.contract.url", "jdbc:h2:mem:own;DB_CLOSE_DELAY=-1;USER=us;PASSWORD=ours");
        System.clearProperty("holdfast.contract.user");
        System.clearProperty("holdfast.contract.password");
        assertThat(ContractRun.of(documentedClass(), "aTaskRunsOnceInAPeriod").passed())
                .hasSize(1);
    }

    private static Class<? extends LockContract> documentedClass() throws ClassNotFoundException {
        return Class.forName("example.OurDatabaseTest").asSubclass(LockContract.class);
    }

    @Test
    void theDocumentationShowsThatClass() throws IOException {
        String source = Files.readString(SOURCE);

        assertThat(Files.readString(ProjectDirectory.resolve("docs/scale-out/other-databases.md")))
                .contains("```java\n" + source + "```\n");
    }
}
