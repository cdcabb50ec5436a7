package io.github.holdfast.autoconfigure;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import liquibase.database.Database;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import org.jspecify.annotations.Nullable;

/** Liquibase, which can also be asked how far others are that write to the same tables. */
final class LockLiquibase extends SpringLiquibase {

    /** What the tables of Liquibase tell. */
    enum History {
        /** Nobody has begun, or is only just creating the tables. */
        MISSING,

        /** Somebody has begun, and has written nothing down yet. */
        EMPTY,

        /** Somebody holds the lock. */
        LOCKED,

        /** Something was applied, and nobody holds the lock. */
        WRITTEN
    }

    private @Nullable Tables tables;

    /** Where Liquibase writes what it applied, and where its lock is; qualified and quoted. */
    private record Tables(String changes, String lock) {}

    History history() throws LiquibaseException {
        try {
            Tables known = tables == null ? findTables() : tables;
            tables = known;
            try (Connection connection = getDataSource().getConnection()) {
                return history(connection, known);
            }
        } catch (SQLException failed) {
            throw new LiquibaseException(failed);
        }
    }

    /** On a connection of its own, whose settings Liquibase changes and puts back. */
    private Tables findTables() throws LiquibaseException, SQLException {
        Database database = createDatabase(getDataSource().getConnection(), createResourceOpener());
        try {
            return new Tables(
                    table(database, database.getDatabaseChangeLogTableName()),
                    table(database, database.getDatabaseChangeLogLockTableName()));
        } finally {
            database.close();
        }
    }

    private static String table(Database database, String name) {
        return database.escapeTableName(database.getLiquibaseCatalogName(), database.getLiquibaseSchemaName(), name);
    }

    /** Without Liquibase, which would write a line to the log for each look. */
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
