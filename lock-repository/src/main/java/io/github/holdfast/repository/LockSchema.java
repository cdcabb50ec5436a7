package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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
 * <p>It runs the SQL that ships for the connected database: {@code postgresql.sql}, {@code mysql.sql},
 * {@code mariadb.sql} or {@code h2.sql} in {@code db/holdfast}. Those files say {@code create table}, not
 * {@code create table if not exists}: as a migration they must fail where a table of that name, perhaps somebody else's,
 * is already there. This class looks for each table first and creates it only if there is none.
 *
 * <p>A table that exists is never altered, dropped or compared with what it should be. Instances are immutable and
 * thread-safe.
 */
public final class LockSchema {

    /** The Liquibase changelog of the same tables on the class path, to be included in the application's own. */
    public static final String CHANGELOG = "db/changelog/holdfast/changelog.xml";

    private static final Logger LOG = LoggerFactory.getLogger(LockSchema.class);

    private final DataSource dataSource;

    private LockSchema(DataSource dataSource) {
        this.dataSource = dataSource;
    }

    /**
     * Names the database; nothing is asked of it yet.
     *
     * @param dataSource not null; its connections are in the schema in which the application looks for its tables
     */
    public static LockSchema on(DataSource dataSource) {
        return new LockSchema(Objects.requireNonNull(dataSource, "dataSource"));
    }

    /**
     * Creates each table that is missing, in the current schema of the connection.
     *
     * <p>Any number of nodes may do so at the same time, and any number of times: one creates a table, the others find
     * it. Where the tables exist, this is one query per table and needs no right but to read them; else the right to
     * create a table. Every statement is committed by itself, whatever the auto-commit mode of the data source; the
     * connection is given back in the mode it came in. Call it outside a transaction: if the data source hands out the
     * connection of a transaction in progress, that transaction is committed.
     *
     * @return the names of those that it has created; nobody else has
     * @throws UnsupportedDatabaseException if the database is none of PostgreSQL, MySQL, MariaDB and H2
     * @throws IllegalStateException if it cannot be reached, or if a table can be neither read nor created; the message says
     *     which and what to do
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
     * Checks that each table is there. One query per table; needs no right but to read them.
     *
     * @throws UnsupportedDatabaseException if the database is none of PostgreSQL, MySQL, MariaDB and H2
     * @throws IllegalStateException if a table is missing or cannot be read, or the database cannot be reached; the message
     *     says which and what to do
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
                throw new IllegalStateException("In %s these tables are missing: %s; run %s, or %s with Liquibase"
                        .formatted(script.database(), String.join(", ", missing), script.path(), CHANGELOG));
            }
        } catch (SQLException failure) {
            throw new IllegalStateException("The lock tables could not be checked: " + failure.getMessage(), failure);
        }
    }

    /** PostgreSQL answers nothing more in a transaction in which a statement failed. */
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
            // Another node may have been faster. Looking again is surer than the code: PostgreSQL answers 42P07, 42710
            // or 23505, depending on how far the other is, and "if not exists" would not help there
            // (https://www.postgresql.org/message-id/CA+TgmoZAdYVtwBfp1FL2sMZbiHCWT4UPrzRLNnX1Nb30Ku3-gg@mail.gmail.com).
            if (!exists(connection, script, table)) {
                throw new IllegalStateException(
                        "Table %s is missing in %s and could not be created; let a user who may create tables run %s, or %s with Liquibase"
                                .formatted(table, script.database(), script.path(), CHANGELOG),
                        failure);
            }
            return false;
        }
    }

    /**
     * Asks as the application will: the catalog would not tell which of several schemas a name resolves to. H2 may stumble over itself
     * while another session creates a table, and is asked again.
     */
    private static boolean exists(Connection connection, SchemaScript script, String table) {
        for (int repetitions = 0; ; repetitions++) {
            try {
                execute(connection, "select 1 from " + table + " where 1 = 0");
                return true;
            } catch (SQLException failure) {
                if (SqlErrors.ofStatement(failure) == Failure.TABLE_MISSING) {
                    return false;
                }
                if (!SqlErrors.isInternalToH2(failure) || repetitions == 2) {
                    throw new IllegalStateException(
                            "Table %s cannot be read in %s; the user needs the rights to select, insert, update and delete"
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
