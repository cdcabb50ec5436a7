package io.github.holdfast.repository.store;

import io.github.holdfast.test.Database;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.temporal.ChronoUnit;

/** Another client of the database: one connection, one transaction at a time. Closing it rolls back. */
public final class OtherClient implements AutoCloseable {

    private final Database database;
    private final Connection connection;

    private OtherClient(Database database, Connection connection) {
        this.database = database;
        this.connection = connection;
    }

    public static OtherClient of(Database database) throws SQLException {
        Connection connection = database.dataSource().getConnection();
        connection.setAutoCommit(false);
        return new OtherClient(database, connection);
    }

    /** Locks the row of the name until the end of the transaction. */
    public static OtherClient lockingRow(Database database, String name) throws SQLException {
        OtherClient client = of(database);
        client.query(TestSql.lockRow(name));
        return client;
    }

    public void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** The first column of the first row. */
    public String query(String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            if (!rows.next()) {
                throw new AssertionError("No row: " + sql);
            }
            return rows.getString(1);
        }
    }

    /** The database's clock. */
    public Instant clock() throws SQLException {
        return Instant.EPOCH.plus(Long.parseLong(query(TestSql.clockMicros(database.kind()))), ChronoUnit.MICROS);
    }

    /** For lambdas that may throw nothing checked. */
    void executeUnchecked(String sql) {
        try {
            execute(sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** Executes the statement and commits. */
    public void commitUnchecked(String sql) {
        executeUnchecked(sql);
        try {
            commit();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    public void commit() throws SQLException {
        connection.commit();
    }

    @Override
    public void close() throws SQLException {
        if (!connection.isClosed()) {
            connection.rollback();
            connection.close();
        }
    }
}
