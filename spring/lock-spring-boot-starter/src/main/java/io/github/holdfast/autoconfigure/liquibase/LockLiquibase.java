package io.github.holdfast.autoconfigure.liquibase;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.Set;
import javax.sql.DataSource;
import liquibase.database.Database;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import org.jspecify.annotations.Nullable;

/** Runs Liquibase, and can read the progress of other processes from Liquibase's tables. */
public final class LockLiquibase extends SpringLiquibase {

    /** The progress according to Liquibase's tables. */
    public enum History {
        /** No process has begun, or a process is still creating the tables. */
        MISSING,

        /** A process has begun, but has not recorded any change yet. */
        EMPTY,

        /** A process holds the lock. */
        LOCKED,

        /** A changelog was applied, and no process holds the lock. */
        WRITTEN
    }

    private @Nullable Tables tables;

    /**
     * What is known of the database.
     *
     * @param changes the qualified and quoted name of Liquibase's changelog table
     * @param lock that of its lock table
     * @param database Liquibase's name of the kind of database
     */
    private record Tables(String changes, String lock, String database) {}

    /**
     * Returns an instance that only reads the tables of another Liquibase. Do not run it.
     *
     * @param dataSource leads to the database of the other Liquibase, whose own data source may already be closed
     */
    static LockLiquibase beside(SpringLiquibase other, DataSource dataSource) {
        LockLiquibase beside = new LockLiquibase();
        beside.setDataSource(dataSource);
        beside.setResourceLoader(other.getResourceLoader());
        beside.setDefaultSchema(other.getDefaultSchema());
        beside.setLiquibaseSchema(other.getLiquibaseSchema());
        beside.setDatabaseChangeLogTable(other.getDatabaseChangeLogTable());
        beside.setDatabaseChangeLogLockTable(other.getDatabaseChangeLogLockTable());
        return beside;
    }

    /** Returns the schema of the connections, or their catalog on a database without schemas; null if that is not known. */
    @Nullable
    public String currentSchema() {
        try (Connection connection = getDataSource().getConnection()) {
            String schema = connection.getSchema();
            return schema != null ? schema : connection.getCatalog();
        } catch (SQLException unknown) {
            return null;
        }
    }

    public History history() throws LiquibaseException {
        return read(LockLiquibase::history);
    }

    /**
     * Returns whether Liquibase would find nothing to do, because its table has all change sets of the changelog. One query; a run of
     * Liquibase would also validate the changelog, and look at the columns of its own tables.
     */
    public boolean isApplied() throws LiquibaseException {
        return read((connection, known) -> {
            ChangeSets wanted = ChangeSets.of(createResourceOpener(), getChangeLog(), known.database());
            return executed(connection, known.changes(), wanted.file()).containsAll(wanted.ids());
        });
    }

    private interface Reading<T> {
        T from(Connection connection, Tables tables) throws SQLException, LiquibaseException;
    }

    private <T> T read(Reading<T> reading) throws LiquibaseException {
        try {
            Tables known = tables == null ? findTables() : tables;
            tables = known;
            try (Connection connection = getDataSource().getConnection()) {
                try {
                    return reading.from(connection, known);
                } finally {
                    endTransaction(connection);
                }
            }
        } catch (SQLException failed) {
            throw new LiquibaseException(failed);
        }
    }

    /** Not all pools do it. The next user of the connection would find a snapshot, or a transaction that has failed. */
    private static void endTransaction(Connection connection) throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
        }
    }

    /** Reads the change sets that Liquibase would not execute again. */
    private static Set<String> executed(Connection connection, String table, String file) {
        Set<String> ids = new HashSet<>();
        try (PreparedStatement query = connection.prepareStatement("select id from " + table
                + " where filename = ? and md5sum is not null and exectype in ('EXECUTED', 'RERAN', 'MARK_RAN')")) {
            query.setString(1, file);
            try (ResultSet rows = query.executeQuery()) {
                while (rows.next()) {
                    ids.add(rows.getString(1));
                }
            }
        } catch (SQLException missing) {
            return Set.of();
        }
        return ids;
    }

    /** Finds the tables on a separate connection. Liquibase changes the settings of that connection and restores them. */
    private Tables findTables() throws LiquibaseException, SQLException {
        Database database = createDatabase(getDataSource().getConnection(), createResourceOpener());
        try {
            return new Tables(
                    table(database, database.getDatabaseChangeLogTableName()),
                    table(database, database.getDatabaseChangeLogLockTableName()),
                    database.getShortName());
        } finally {
            database.close();
        }
    }

    private static String table(Database database, String name) {
        return database.escapeTableName(database.getLiquibaseCatalogName(), database.getLiquibaseSchemaName(), name);
    }

    /** Reads the progress by plain SQL, because Liquibase would log a line for each poll. */
    private static History history(Connection connection, Tables tables) {
        boolean isWritten;
        try {
            isWritten = isAny(connection, "1 = 1", tables.changes());
        } catch (SQLException missing) {
            return History.MISSING;
        }
        try {
            if (isAny(connection, "locked", tables.lock())) {
                return History.LOCKED;
            }
        } catch (SQLException notYetNeeded) {
            return isWritten ? History.WRITTEN : History.EMPTY;
        }
        return isWritten ? History.WRITTEN : History.EMPTY;
    }

    private static boolean isAny(Connection connection, String condition, String table) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select 1 from " + table + " where " + condition)) {
            return rows.next();
        }
    }
}
