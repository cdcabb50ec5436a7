package io.github.holdfast.service;

import io.github.holdfast.test.Database;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** A number in a table that is read, and then written in another transaction: two at once lose a count. */
final class Counter {

    private Counter() {}

    static void create(Database database) {
        database.execute("create table counted (n bigint not null)", "insert into counted values (0)");
    }

    static void increment(DataSource dataSource) throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            long before;
            try (ResultSet row = statement.executeQuery("select n from counted")) {
                row.next();
                before = row.getLong(1);
            }
            statement.executeUpdate("update counted set n = " + (before + 1));
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
        }
    }

    static long read(Database database) {
        return database.queryForLong("select n from counted");
    }
}
