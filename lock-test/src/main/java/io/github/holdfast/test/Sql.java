package io.github.holdfast.test;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/** Work on connections of its own, with unchecked exceptions. */
final class Sql {

    private Sql() {}

    static void execute(DataSource dataSource, String... statements) {
        for (String sql : statements) {
            onConnection(dataSource, connection -> {
                try (Statement statement = connection.createStatement()) {
                    return statement.execute(sql);
                } catch (SQLException e) {
                    throw new IllegalStateException(e.getMessage() + ": " + sql, e);
                }
            });
        }
    }

    static <T extends @Nullable Object> List<T> list(DataSource dataSource, String sql, Work<ResultSet, T> row) {
        return onConnection(dataSource, connection -> {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(sql)) {
                List<T> list = new ArrayList<>();
                while (rows.next()) {
                    list.add(row.on(rows));
                }
                return list;
            }
        });
    }

    static <T extends @Nullable Object> T onConnection(DataSource dataSource, Work<Connection, T> work) {
        try (Connection connection = dataSource.getConnection()) {
            return work.on(connection);
        } catch (SQLException e) {
            throw new IllegalStateException(e.getMessage(), e);
        }
    }

    /** What is done with a connection or a row. */
    interface Work<S, T extends @Nullable Object> {
        T on(S source) throws SQLException;
    }
}
