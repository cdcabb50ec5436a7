package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.hibernate.boot.model.naming.Identifier;
import org.hibernate.boot.model.naming.PhysicalNamingStrategyStandardImpl;
import org.hibernate.engine.jdbc.env.spi.JdbcEnvironment;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The tables are where the mapping says, by the names that it gives, in each way to create them. */
@OnEachDatabase
class LockTablesTest {

    private static final String STRATEGY = "hibernate.physical_naming_strategy";
    private static final String ACTION = "hibernate.hbm2ddl.auto";

    private Database database;

    /** What an application may do to all names of its mapping. */
    enum Naming {
        PLAIN,
        SUFFIX,
        UPPER_CASE,
        CAMEL_CASE,
        QUOTED,
        SCHEMA,
        OF_COLUMNS,
        ALL
    }

    @BeforeEach
    void emptyDatabase(Database injected) {
        database = Database.create(injected.kind());
    }

    @AfterEach
    void drop() {
        if (isMysql()) {
            database.administer("drop database if exists app");
        }
        database.close();
    }

    private void createSchema() {
        switch (database.kind()) {
            case POSTGRESQL -> database.execute("create schema app");
            case MARIADB, MYSQL ->
                database.administer("create database app", "grant all on app.* to " + database.user());
            case H2_MEMORY, H2_FILE, H2_TCP -> database.execute("create schema app", "create schema \"app\"");
        }
    }

    private boolean isMysql() {
        return database.kind() == TestDatabase.MYSQL || database.kind() == TestDatabase.MARIADB;
    }

    private Map<String, Object> settings(Naming naming, String action) {
        if (naming == Naming.SCHEMA || naming == Naming.ALL) {
            createSchema();
        }
        return settingsOf(naming, action);
    }

    private Map<String, Object> settingsOf(Naming naming, String action) {
        Map<String, Object> settings = new HashMap<>(Map.of(ACTION, action));
        String schema = isMysql() ? "hibernate.default_catalog" : "hibernate.default_schema";
        switch (naming) {
            case PLAIN -> {}
            case SUFFIX -> settings.put(STRATEGY, new Renamed(table -> table + "_app", column -> column));
            case UPPER_CASE ->
                settings.put(
                        STRATEGY,
                        new Renamed(name -> name.toUpperCase(Locale.ROOT), name -> name.toUpperCase(Locale.ROOT)));
            case CAMEL_CASE -> settings.put(STRATEGY, new Renamed(LockTablesTest::camel, LockTablesTest::camel));
            case QUOTED -> settings.put("hibernate.globally_quoted_identifiers", "true");
            case SCHEMA -> settings.put(schema, "app");
            case OF_COLUMNS -> settings.put(STRATEGY, new Renamed(table -> table, column -> "c_" + column));
            case ALL -> {
                settings.put(STRATEGY, new Renamed(table -> "App " + camel(table), LockTablesTest::camel));
                settings.put("hibernate.globally_quoted_identifiers", "true");
                settings.put(schema, "app");
            }
        }
        return settings;
    }

    private static String camel(String name) {
        StringBuilder camel = new StringBuilder();
        for (String word : name.split("_")) {
            camel.append(word.substring(0, 1).toUpperCase(Locale.ROOT)).append(word.substring(1));
        }
        return camel.toString();
    }

    @ParameterizedTest
    @EnumSource
    void scriptMakesTheTablesThatHibernateValidates(Naming naming) {
        String script;
        try (EntityManagerFactory unit = unit(settings(naming, "none"))) {
            script = LockSchema.script(unit);
        }
        for (String statement : script.replaceAll("--.*", "").split(";")) {
            if (!statement.isBlank()) {
                database.execute(statement);
            }
        }
        assertThatLocksWork(settingsOf(naming, "validate"));
    }

    @ParameterizedTest
    @EnumSource
    void listenerMakesThemBeforeHibernateValidates(Naming naming) {
        Map<String, Object> settings = settings(naming, "validate");
        List<LockTables> told = new ArrayList<>();
        Consumer<LockTables> listener = tables -> {
            told.add(tables);
            assertThat(tables.generation()).isEqualTo("validate");
            assertThat(tables.on(tables.dataSource().orElseThrow()).createIfMissing())
                    .hasSize(6);
        };
        settings.put(LockTables.LISTENER, listener);
        assertThatLocksWork(settings);
        try (EntityManagerFactory unit = unit(settingsOf(naming, "validate"))) {
            assertThat(LockSchema.script(unit)).isEqualTo(told.get(0).script());
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PLAIN", "SUFFIX", "ALL"})
    void hibernateMakesTablesThatDistinguishNames(Naming naming) {
        assertThatLocksWork(settings(naming, "create-drop"));
    }

    @Test
    void updateByHibernateMakesThemToo() {
        assertThatLocksWork(settings(Naming.PLAIN, "update"));
    }

    @ParameterizedTest
    @EnumSource
    void changelogIsToldTheNamesThatItCanFollow(Naming naming) {
        try (EntityManagerFactory unit = unit(settings(naming, "none"))) {
            LockTables tables = LockTables.of(unit);
            switch (naming) {
                case PLAIN, SCHEMA ->
                    assertThat(tables.unquotedNames().orElseThrow()).containsEntry("lock_node", "lock_node");
                case SUFFIX ->
                    assertThat(tables.unquotedNames().orElseThrow().get("lock_node"))
                            .isEqualToIgnoringCase("lock_node_app");
                case UPPER_CASE -> assertThat(tables.unquotedNames().isEmpty()).isEqualTo(isMysql());
                case QUOTED ->
                    assertThat(tables.unquotedNames().isEmpty())
                            .isEqualTo(database.kind().isH2());
                case CAMEL_CASE, OF_COLUMNS, ALL ->
                    assertThat(tables.unquotedNames()).isEmpty();
            }
            assertThat(tables.schema().isPresent()).isEqualTo(naming == Naming.SCHEMA || naming == Naming.ALL);
        }
    }

    @Test
    void tablesElsewhereAreNamed() {
        try (EntityManagerFactory unit = unit(settings(Naming.PLAIN, "none"))) {
            LockTables.of(unit).on(database.dataSource()).createIfMissing();
        }
        Map<String, Object> settings = settings(Naming.SCHEMA, "none");
        try (EntityManagerFactory unit = unit(settings)) {
            assertThatThrownBy(() -> LockStore.open(unit))
                    .isInstanceOfSatisfying(
                            DatabaseSetupException.class,
                            found -> assertThat(found.problem()).isEqualTo(Problem.WRONG_PLACE))
                    .hasMessageMatching(
                            "(?s).*missing: .*app.distributed_lock.*A table distributed_lock is in .*looks for it in .*app.*");
        }
    }

    @Test
    void schemaThatIsMissingIsTheWrongPlace() {
        try (EntityManagerFactory unit = unit(settingsOf(Naming.SCHEMA, "none"))) {
            LockSchema schema = LockTables.of(unit).on(database.dataSource());
            assertThatThrownBy(schema::createIfMissing)
                    .isInstanceOfSatisfying(
                            DatabaseSetupException.class,
                            found -> assertThat(found.problem()).isEqualTo(Problem.WRONG_PLACE))
                    .hasMessageContaining("app.distributed_lock")
                    .hasMessageMatching("(?is).*could not be created: .*app.*");
        }
    }

    private EntityManagerFactory unit(Map<String, Object> settings) {
        return PersistenceUnit.directlyOn(database.dataSource(), settings);
    }

    private void assertThatLocksWork(Map<String, Object> settings) {
        try (EntityManagerFactory unit = unit(settings);
                LockStore store = LockStore.open(unit)) {
            store.inTransaction(Duration.ofSeconds(10), locks -> locks.createIfMissing("job"));
            boolean isThere = store.inTransaction(
                    Duration.ofSeconds(10), locks -> locks.read("job").isPresent());
            int purged = store.inTransaction(
                    Duration.ofSeconds(10), () -> store.pages().purge(List.of("job")));
            assertThat(isThere).isTrue();
            assertThat(purged).isOne();
        }
    }

    private static final class Renamed extends PhysicalNamingStrategyStandardImpl {

        private static final long serialVersionUID = 1L;

        private final transient UnaryOperator<String> table;
        private final transient UnaryOperator<String> column;

        Renamed(UnaryOperator<String> table, UnaryOperator<String> column) {
            this.table = table;
            this.column = column;
        }

        @Override
        public Identifier toPhysicalTableName(Identifier logical, JdbcEnvironment environment) {
            return new Identifier(table.apply(logical.getText()), logical.isQuoted());
        }

        @Override
        public Identifier toPhysicalColumnName(Identifier logical, JdbcEnvironment environment) {
            return new Identifier(column.apply(logical.getText()), logical.isQuoted());
        }
    }
}
