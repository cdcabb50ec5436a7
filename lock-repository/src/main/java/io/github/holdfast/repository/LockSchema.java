package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
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

    /** How often to look for a table that another session is creating. Each look is one round trip; all take most of a second. */
    private static final int LOOKS = 1000;

    private final DataSource dataSource;

    private LockSchema(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    /**
     * Returns the schema of a database. It does not connect to the database yet.
     *
     * @param dataSource not null; its connections must be in the schema of the application's tables
     */
    public static LockSchema on(DataSource dataSource) {
        return new LockSchema(Objects.requireNonNull(dataSource, "dataSource"));
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
     * @throws IllegalStateException if the database cannot be reached, or if a table can be neither read nor created; the message
     *     says which, and what to do
     */
    public List<String> createIfMissing() {
        List<String> created = new ArrayList<>();
        try (Connection connection = dataSource.getConnection()) {
            SchemaScript script = SchemaScript.of(connection);
            boolean autoCommit = connection.getAutoCommit();
            connection.setAutoCommit(true);
            try {
                for (String table : script.tables()) {
                    if (createIfMissing(connection, script, table)) {
                        created.add(table);
                    }
                }
            } finally {
                connection.setAutoCommit(autoCommit);
            }
            return created;
        } catch (SQLException failure) {
            throw new IllegalStateException("The lock tables could not be checked: " + failure.getMessage(), failure);
        }
    }

    /**
     * Checks that each table exists. One query per table; needs only the privilege to read the tables.
     *
     * @throws UnsupportedDatabaseException if no {@link LockDialect} is of this database
     * @throws IllegalStateException if a table is missing or cannot be read, or the database cannot be reached; the message says
     *     which, and what to do
     */
    public void validate() {
        try (Connection connection = dataSource.getConnection()) {
            SchemaScript script = SchemaScript.of(connection);
            List<String> missing = new ArrayList<>();
            for (String table : script.tables()) {
                if (!exists(connection, script, table)) {
                    missing.add(table);
                    rollBackFailed(connection);
                }
            }
            if (!missing.isEmpty()) {
                throw new IllegalStateException(
                        "In %s, these tables are missing: %s. Run %s, or apply %s with Liquibase"
                                .formatted(script.database(), String.join(", ", missing), script.path(), CHANGELOG));
            }
        } catch (SQLException failure) {
            throw new IllegalStateException("The lock tables could not be checked: " + failure.getMessage(), failure);
        }
    }

    /** Rolls back after a failed statement. PostgreSQL would refuse all further statements of that transaction. */
    private static void rollBackFailed(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
    }

    private static boolean createIfMissing(Connection connection, SchemaScript script, String table)
            throws SQLException {
        if (exists(connection, script, table)) {
            return false;
        }
        try {
            execute(connection, script.creationOf(table));
            LOG.info("Created table {} in {}", table, script.database());
            return true;
        } catch (SQLException failure) {
            // Another node may have been faster. A second look is more reliable than the error code: PostgreSQL answers
            // 42P07, 42710 or 23505, depending on how far the other node is, and "if not exists" would not help there
            // (https://www.postgresql.org/message-id/CA+TgmoZAdYVtwBfp1FL2sMZbiHCWT4UPrzRLNnX1Nb30Ku3-gg@mail.gmail.com).
            if (!existsByNow(connection, script, table, failure)) {
                throw new IllegalStateException(
                        ("Table %s is missing in %s and could not be created. As a user with the right to create"
                                        + " tables, run %s, or apply %s with Liquibase")
                                .formatted(table, script.database(), script.path(), CHANGELOG),
                        failure);
            }
            return false;
        }
    }

    /**
     * Looks for a table after its creation has failed. Some errors show that another node is creating the table, and then it soon
     * becomes visible. On PostgreSQL, other sessions see the table's type a moment before they see its name
     * (https://github.com/postgres/postgres/blob/master/src/backend/utils/cache/inval.c).
     */
    private static boolean existsByNow(Connection connection, SchemaScript script, String table, SQLException failure) {
        boolean exists = exists(connection, script, table);
        for (int looks = 0; !exists && looks < LOOKS && BEING_CREATED.contains(failure.getSQLState()); looks++) {
            exists = exists(connection, script, table);
        }
        return exists;
    }

    /**
     * Looks for a table by a query, as the application will. The catalog would not show to which of several schemas a name
     * resolves. H2 may fail with an internal error while another session creates a table. The query is then repeated.
     */
    private static boolean exists(Connection connection, SchemaScript script, String table) {
        for (int repetitions = 0; ; repetitions++) {
            try {
                execute(connection, "select 1 from " + table + " where 1 = 0");
                return true;
            } catch (SQLException failure) {
                if (script.errors().ofStatement(failure) == Failure.TABLE_MISSING) {
                    return false;
                }
                if (!script.errors().isInternal(failure) || repetitions == 2) {
                    throw new IllegalStateException(
                            "Table %s cannot be read in %s; the user must be able to select, insert, update and delete"
                                    .formatted(table, script.database()),
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
