package io.github.holdfast.test;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Executes SQL on separate connections, with unchecked exceptions. */
final class Sql {

    private Sql() {}

    static void execute(DataSource dataSource, String... statements) {
        onConnection(dataSource, executing(statements));
    }

    static <T extends @Nullable Object> List<T> list(DataSource dataSource, String sql, Work<ResultSet, T> row) {
        return onConnection(dataSource, querying(sql, row));
    }

    static Work<Connection, Boolean> executing(String... statements) {
        return connection -> {
            for (String sql : statements) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute(sql);
                } catch (SQLException e) {
                    throw new IllegalStateException(e.getMessage() + ": " + sql, e);
                }
            }
            return true;
        };
    }

    static <T extends @Nullable Object> Work<Connection, List<T>> querying(String sql, Work<ResultSet, T> row) {
        return connection -> {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(sql)) {
                List<T> list = new ArrayList<>();
                while (rows.next()) {
                    list.add(row.on(rows));
                }
                return list;
            }
        };
    }

    static <T extends @Nullable Object> T onConnection(DataSource dataSource, Work<Connection, T> work) {
        try (Connection connection = dataSource.getConnection()) {
            return work.on(connection);
        } catch (SQLException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    /** Work with a connection or a row. */
    interface Work<S, T extends @Nullable Object> {
        T on(S source) throws SQLException;
    }
}
