package io.github.holdfast.service;

import io.github.holdfast.test.Database;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/** The sessions of a database, to be ended by the server. */
final class Sessions {

    private Sessions() {}

    static void killAll(Database database) throws SQLException {
        int unused = kill(
                database,
                switch (database.kind()) {
                    case POSTGRESQL, MARIADB, MYSQL -> "1 = 1";
                    // H2 rolls back in the thread that kills. A session that works meanwhile may leave its transaction
                    // open, and
                    // the next one with that number fails: "An old transaction with the same id is still open".
                    default -> "executing_statement is null";
                });
    }

    /**
     * Ends those that wait for a row, which only {@code select ... for update} does in these tests.
     *
     * @return how many there were
     */
    static int killWaiting(Database database) throws SQLException {
        return kill(
                database,
                switch (database.kind()) {
                    case POSTGRESQL -> "wait_event_type = 'Lock'";
                    case MARIADB, MYSQL -> "info like '%for update%'";
                    default -> "executing_statement like '%for update%'";
                });
    }

    private static int kill(Database database, String which) throws SQLException {
        return switch (database.kind()) {
            case POSTGRESQL ->
                killEach(
                        database,
                        "select pid from pg_stat_activity where datname = current_database()"
                                + " and backend_type = 'client backend' and pid <> pg_backend_pid() and " + which,
                        "select pg_terminate_backend(%d)");
            case MARIADB, MYSQL ->
                killEach(
                        database,
                        "select id from information_schema.processlist where db = database() and id <> connection_id() and "
                                + which,
                        "kill connection %d");
            default ->
                killEach(
                        database,
                        "select session_id from information_schema.sessions where session_id <> session_id() and "
                                + which,
                        "call abort_session(%d)");
        };
    }

    private static int killEach(Database database, String query, String kill) throws SQLException {
        List<Long> ids = new ArrayList<>();
        try (Connection connection = database.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery(query)) {
                while (rows.next()) {
                    ids.add(rows.getLong(1));
                }
            }
            for (long id : ids) {
                try {
                    statement.execute(kill.formatted(id));
                } catch (SQLException e) {
                    // It has ended by itself, or ends just now, which H2 does not bear.
                }
            }
        }
        return ids.size();
    }
}
