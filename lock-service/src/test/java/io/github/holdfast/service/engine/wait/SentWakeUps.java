package io.github.holdfast.service.engine.wait;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** What releases send to waiters of other nodes, and the connections that hear it. */
interface SentWakeUps extends AutoCloseable {

    /**
     * Those of one service.
     *
     * @param releasing the service's connections
     */
    static SentWakeUps of(CountingDataSource releasing, Database database) throws SQLException {
        return database.kind() == TestDatabase.POSTGRESQL
                ? new Notifications(HeardNotifications.on(database), database)
                : new Rings(releasing, database);
    }

    /** How many were sent since this was asked last, without what services try their connections with. */
    int soFar() throws SQLException;

    /** Sends what a release would send to the nodes that wait and listen. */
    void send(String name) throws SQLException;

    /** Ends the sessions of the server that listen. */
    void killListeners();

    /** Whether what comes over this connection wakes a service. */
    boolean listens(Connection connection) throws SQLException;

    @Override
    void close() throws SQLException;

    /** On PostgreSQL. */
    record Notifications(HeardNotifications heard, Database database) implements SentWakeUps {

        @Override
        public int soFar() throws SQLException {
            return heard.soFar().size();
        }

        @Override
        public void send(String name) throws SQLException {
            heard.send(database.queryForLong("select max(bell) from lock_node") + " " + name);
        }

        @Override
        public void killListeners() {
            long unused = database.queryForLong("select count(pg_terminate_backend(pid)) from pg_stat_activity"
                    + " where state = 'idle' and query ~ '^(listen.*)?$'");
        }

        @Override
        public boolean listens(Connection connection) throws SQLException {
            return number(connection, "select count(*) from pg_listening_channels()") > 0;
        }

        @Override
        public void close() throws SQLException {
            heard.close();
        }
    }

    /** On MySQL and MariaDB. */
    final class Rings implements SentWakeUps {

        private static final int NO_SUCH_THREAD = 1094;

        private final CountingDataSource releasing;
        private final Database database;
        private final Set<String> bells = new HashSet<>();
        private long before;

        private Rings(CountingDataSource releasing, Database database) {
            this.releasing = releasing;
            this.database = database;
        }

        /** A service proves its own bell too, but only a bell of a node that waits is in the table. */
        @Override
        public int soFar() {
            String known = database.queryForString(
                    "select group_concat(bell separator ',') from lock_node where bell is not null");
            if (known != null) {
                bells.addAll(List.of(known.split(",")));
            }
            long rings = releasing.sql().stream()
                    .filter(sql -> sql.startsWith("kill query"))
                    .filter(sql -> bells.stream().anyMatch(sql::contains))
                    .count();
            long sent = rings - before;
            before = rings;
            return (int) sent;
        }

        @Override
        public void send(String name) throws SQLException {
            try (Connection connection = database.dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("kill query is_used_lock('holdfast:"
                        + database.queryForLong("select max(bell) from lock_node") + "')");
            } catch (SQLException failed) {
                if (failed.getErrorCode() != NO_SUCH_THREAD) {
                    throw failed;
                }
            }
        }

        @Override
        public void killListeners() {
            try (Connection connection = database.dataSource().getConnection();
                    Statement statement = connection.createStatement();
                    ResultSet sleeping = statement.executeQuery(
                            "select id from information_schema.processlist where info like 'select sleep(%'")) {
                while (sleeping.next()) {
                    kill(connection, sleeping.getLong(1));
                }
            } catch (SQLException failed) {
                throw new AssertionError(failed);
            }
        }

        private static void kill(Connection connection, long session) {
            try (Statement statement = connection.createStatement()) {
                statement.execute("kill " + session);
            } catch (SQLException gone) {
                // It has ended by itself.
            }
        }

        @Override
        public boolean listens(Connection connection) throws SQLException {
            return number(
                            connection,
                            "select count(*) from lock_node where bell is not null"
                                    + " and is_used_lock(concat('holdfast:', bell)) = connection_id()")
                    > 0;
        }

        @Override
        public void close() {}
    }

    private static long number(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            result.next();
            return result.getLong(1);
        }
    }
}
