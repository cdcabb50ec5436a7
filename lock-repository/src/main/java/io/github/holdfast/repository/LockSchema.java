package io.github.holdfast.repository;

import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.StoreException.Failure;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates the tables of the locks, for applications with neither Liquibase nor Flyway.
 *
 * <pre>{@code
 * LockSchema.on(dataSource).createIfMissing();
 * }</pre>
 *
 * <p>It runs the script for the connected database: {@code postgresql.sql}, {@code mysql.sql}, {@code mariadb.sql} or {@code
 * h2.sql} in {@code db/holdfast}, or that of another {@link LockDialect}. Those files contain {@code create table} without {@code if
 * not exists}. As a migration, they must fail if a table of that name already exists, because it may belong to another application.
 * This class looks for each table first, and creates it only if it is missing.
 *
 * <p>It never alters or drops an existing table, and does not compare its columns with the expected ones. Instances are immutable
 * and thread-safe.
 */
public final class LockSchema {

    /** The class path location of the Liquibase changelog for the same tables. Include it in your own changelog. */
    public static final String CHANGELOG = Changelog.PATH;

    private static final Logger LOG = LoggerFactory.getLogger(LockSchema.class);

    /**
     * PostgreSQL's errors if another session is creating the same table: duplicate table, duplicate object, duplicate catalog
     * row.
     */
    private static final Set<String> BEING_CREATED = Set.of("42P07", "42710", "23505");

    /** How often to check for a table that another session is creating. Each check is one round trip; all take most of a second. */
    private static final int CHECKS = 1000;

    private static final String OWN_SCRIPT =
            "the SQL that LockSchema.script(entityManagerFactory) returns, or with the starter the file that"
                    + " holdfast.schema.script=<file> writes";

    private final DataSource dataSource;
    private final MappedNames names;

    private LockSchema(DataSource dataSource, MappedNames names) {
        this.dataSource = dataSource;
        this.names = names;
    }

    /**
     * Returns the SQL that creates exactly the tables that a persistence unit needs: in its default schema, by the names that its naming
     * strategy gives, quoted as it quotes. For migrations of an application whose mapping does not have the names of the bundled files. It
     * does not connect to the database.
     *
     * @param entityManagerFactory not null; a factory of Hibernate that manages the entities of the locks. It can be built without the
     *     tables unless Hibernate validates them
     * @throws UnsupportedDatabaseException if no {@link LockDialect} is of the unit's dialect
     * @throws RuntimeException if the factory is not one of Hibernate, or lacks an entity
     */
    public static String script(EntityManagerFactory entityManagerFactory) {
        return LockTables.of(entityManagerFactory).script();
    }

    /**
     * Returns the schema of a database. It does not connect to the database yet.
     *
     * @param dataSource not null; its connections must be in the schema of the application's tables
     */
    public static LockSchema on(DataSource dataSource) {
        return new LockSchema(Objects.requireNonNull(dataSource, "dataSource"), MappedNames.PLAIN);
    }

    /** Returns the same with the names of a mapping. */
    LockSchema named(MappedNames mapped) {
        return new LockSchema(dataSource, mapped);
    }

    /**
     * Creates each table that is missing, in the current schema of the connection.
     *
     * <p>Any number of nodes may call it at the same time, any number of times. One node creates a table, and the others find it.
     * If the tables exist, the call takes one query per table and needs only the privilege to read them. Otherwise it needs the
     * privilege to create a table. It commits every statement by itself, whatever the autocommit mode of the data source, and
     * restores that mode afterwards. Call it outside a transaction. If the data source returns the connection of an open
     * transaction, the call commits that transaction.
     *
     * @return the names of the tables that this call itself created
     * @throws UnsupportedDatabaseException if no {@link LockDialect} is of this database
     * @throws DatabaseSetupException if the database cannot be reached, or if a table can be neither read nor created; the message
     *     says which, and why
     */
    public List<String> createIfMissing() {
        return onConnection(connection -> {
            List<String> created = new ArrayList<>();
            SchemaScript script = SchemaScript.of(connection, names);
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(true);
            try {
                for (String table : script.tables()) {
                    if (createIfMissing(connection, script, table)) {
                        created.add(names.table(table));
                    }
                }
            } finally {
                connection.setAutoCommit(autoCommit);
            }
            return created;
        });
    }

    /**
     * Checks that each table exists. One query per table; needs only the privilege to read the tables.
     *
     * @throws UnsupportedDatabaseException if no {@link LockDialect} is of this database
     * @throws DatabaseSetupException if a table is missing or cannot be read, or the database cannot be reached; the message says
     *     which, and what to do
     */
    public void validate() {
        List<String> unused = onConnection(connection -> {
            SchemaScript script = SchemaScript.of(connection, names);
            List<String> missing = new ArrayList<>();
            for (String table : script.tables()) {
                if (!exists(connection, script, table)) {
                    missing.add(table);
                    rollBackFailed(connection);
                }
            }
            if (!missing.isEmpty()) {
                throw missing(connection, script, missing);
            }
            return missing;
        });
    }

    /**
     * Checks that a connection can be opened.
     *
     * @throws DatabaseSetupException if it cannot; the message has the database's own words
     */
    public void connect() {
        List<String> unused = onConnection(connection -> List.of());
    }

    private interface Work {
        List<String> on(Connection connection) throws SQLException;
    }

    private List<String> onConnection(Work work) {
        try (Connection connection = open()) {
            return work.on(connection);
        } catch (SQLException failure) {
            throw new DatabaseSetupException(
                    Problem.OTHER, "The lock tables could not be checked: " + SqlErrors.words(failure), failure);
        }
    }

    private Connection open() {
        try {
            return dataSource.getConnection();
        } catch (SQLException | RuntimeException failure) {
            // HikariCP reports the failure of its first connection by an exception that is not of JDBC.
            throw DatabaseSetupException.noConnection("The database of the locks cannot be reached", failure);
        }
    }

    private DatabaseSetupException missing(Connection connection, SchemaScript script, List<String> missing)
            throws SQLException {
        String tables = missing.stream().map(names::table).collect(Collectors.joining(", "));
        Set<String> elsewhere = schemasWith(connection, script, missing.get(0));
        if (elsewhere.isEmpty()) {
            return new DatabaseSetupException(
                    Problem.TABLES_MISSING,
                    "In %s, these tables are missing: %s. To create them, %s"
                            .formatted(script.database(), tables, howToCreate(script)),
                    null);
        }
        return new DatabaseSetupException(
                Problem.WRONG_PLACE,
                "In %s, these tables are missing: %s. A table %s is in %s, but the persistence unit looks for it in %s"
                        .formatted(
                                script.database(),
                                tables,
                                missing.get(0),
                                String.join(", ", elsewhere),
                                names.schema()
                                        .orElse("the current schema of its connections, " + schemaOf(connection))),
                null);
    }

    private String howToCreate(SchemaScript script) {
        return names.inSql().equals(MappedNames.PLAIN.inSql())
                ? "run %s, or apply %s with Liquibase".formatted(script.path(), CHANGELOG)
                : "run " + OWN_SCRIPT;
    }

    private static String schemaOf(Connection connection) throws SQLException {
        String schema = connection.getSchema();
        return schema != null ? schema : String.valueOf(connection.getCatalog());
    }

    /** Returns the other schemas in which the user sees a table of this name. */
    private Set<String> schemasWith(Connection connection, SchemaScript script, String table) throws SQLException {
        Set<String> schemas = new TreeSet<>();
        String name = names.inCatalog(table, script.dialect())
                .replace("_", connection.getMetaData().getSearchStringEscape() + "_");
        try (ResultSet tables =
                connection.getMetaData().getTables(null, null, name, new String[] {"TABLE", "BASE TABLE"})) {
            while (tables.next()) {
                String schema = tables.getString("TABLE_SCHEM");
                schemas.add(schema != null ? schema : String.valueOf(tables.getString("TABLE_CAT")));
            }
        }
        return schemas;
    }

    /** Rolls back after a failed statement. PostgreSQL would refuse all further statements of that transaction. */
    private static void rollBackFailed(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
    }

    private boolean createIfMissing(Connection connection, SchemaScript script, String table) throws SQLException {
        if (exists(connection, script, table)) {
            return false;
        }
        try {
            execute(connection, script.creationOf(table));
            LOG.info("Created table {} in {}", names.table(table), script.database());
            return true;
        } catch (SQLException failure) {
            // Another node may have been faster. A second check is more reliable than the error code. PostgreSQL's is
            // 42P07, 42710 or 23505, depending on how far the other node is, and "if not exists" would not help there
            // (https://www.postgresql.org/message-id/CA+TgmoZAdYVtwBfp1FL2sMZbiHCWT4UPrzRLNnX1Nb30Ku3-gg@mail.gmail.com).
            if (!existsByNow(connection, script, table, failure)) {
                throw notCreated(connection, script, table, failure);
            }
            return false;
        }
    }

    private DatabaseSetupException notCreated(
            Connection connection, SchemaScript script, String table, SQLException failure) {
        String what = "Table %s is missing in %s and could not be created: %s"
                .formatted(names.table(table), script.database(), SqlErrors.words(failure));
        SqlErrors errors = script.errors();
        if (errors.ofStatement(failure) == Failure.READ_ONLY) {
            return new DatabaseSetupException(errors.readOnly(connection), what, failure);
        }
        if (errors.isSchemaMissing(failure)) {
            return new DatabaseSetupException(Problem.WRONG_PLACE, what, failure);
        }
        return errors.isMissingRight(failure)
                ? new DatabaseSetupException(
                        Problem.MISSING_RIGHT, what + ". As a user with that right, " + howToCreate(script), failure)
                : new DatabaseSetupException(Problem.OTHER, what, failure);
    }

    /**
     * Checks for a table after its creation has failed. Some errors show that another node is creating the table, and then it soon
     * becomes visible. On PostgreSQL, other sessions see the table's type a moment before they see its name
     * (https://github.com/postgres/postgres/blob/master/src/backend/utils/cache/inval.c).
     */
    private boolean existsByNow(Connection connection, SchemaScript script, String table, SQLException failure) {
        boolean exists = exists(connection, script, table);
        for (int checks = 0; !exists && checks < CHECKS && BEING_CREATED.contains(failure.getSQLState()); checks++) {
            exists = exists(connection, script, table);
        }
        return exists;
    }

    /**
     * Checks for a table by a query, as the application will. The catalog would not show to which of several schemas a name
     * resolves. H2 may fail with an internal error while another session creates a table. The query is then repeated.
     */
    private boolean exists(Connection connection, SchemaScript script, String table) {
        for (int repetitions = 0; ; repetitions++) {
            try {
                execute(connection, "select 1 from " + names.table(table) + " where 1 = 0");
                return true;
            } catch (SQLException failure) {
                SqlErrors errors = script.errors();
                if (errors.ofStatement(failure) == Failure.TABLE_MISSING || errors.isSchemaMissing(failure)) {
                    return false;
                }
                if (!errors.isInternal(failure) || repetitions == 2) {
                    throw new DatabaseSetupException(
                            errors.isMissingRight(failure) ? Problem.MISSING_RIGHT : Problem.OTHER,
                            "Table %s cannot be read in %s; the user must be able to select, insert, update and delete: %s"
                                    .formatted(names.table(table), script.database(), SqlErrors.words(failure)),
                            failure);
                }
            }
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
