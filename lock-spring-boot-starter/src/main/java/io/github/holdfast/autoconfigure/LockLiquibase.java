package io.github.holdfast.autoconfigure;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import liquibase.database.Database;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import liquibase.snapshot.SnapshotGeneratorFactory;

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

    History history() throws LiquibaseException {
        try (Connection connection = getDataSource().getConnection()) {
            Database database = createDatabase(connection, createResourceOpener());
            try {
                return history(database, (JdbcConnection) database.getConnection());
            } finally {
                database.close();
            }
        } catch (SQLException failed) {
            throw new LiquibaseException(failed);
        }
    }

    private static History history(Database database, JdbcConnection connection)
            throws LiquibaseException, SQLException {
        SnapshotGeneratorFactory tables = SnapshotGeneratorFactory.getInstance();
        if (!tables.hasDatabaseChangeLogTable(database)) {
            return History.MISSING;
        }
        if (tables.hasDatabaseChangeLogLockTable(database)
                && isAny(connection, "locked", table(database, database.getDatabaseChangeLogLockTableName()))) {
            return History.LOCKED;
        }
        return isAny(connection, "1 = 1", table(database, database.getDatabaseChangeLogTableName()))
                ? History.WRITTEN
                : History.EMPTY;
    }

    private static String table(Database database, String name) {
        return database.escapeTableName(database.getLiquibaseCatalogName(), database.getLiquibaseSchemaName(), name);
    }

    private static boolean isAny(JdbcConnection connection, String condition, String table)
            throws LiquibaseException, SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select 1 from " + table + " where " + condition)) {
            return rows.next();
        }
    }
}
