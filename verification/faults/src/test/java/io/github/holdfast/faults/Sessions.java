package io.github.holdfast.faults;

import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongPredicate;

/** Sessions of others on a server, and what can be done to sessions. */
record Sessions(Server server) {

    /** MySQL and MariaDB keep one more for administrators, and MariaDB refuses a limit under this. */
    private static final int LOWEST_LIMIT = 10;

    private static final int ROOM = 3;

    /** What is done while things are bad. */
    interface Meanwhile {
        void run();
    }

    /** Sits on all locks' rows meanwhile. */
    void sitOnRows(Meanwhile meanwhile) throws SQLException {
        try (Connection session = server.connection();
                Statement statement = session.createStatement()) {
            session.setAutoCommit(false);
            boolean unused = statement.execute("select name from distributed_lock for update");
            meanwhile.run();
            session.rollback();
        }
    }

    /** Ends those that are chosen. */
    void kill(LongPredicate chosen) throws SQLException {
        String kill = switch (server.kind()) {
            case POSTGRESQL -> "select pg_terminate_backend(%d)";
            case MARIADB, MYSQL -> "kill connection %d";
            case H2_MEMORY, H2_FILE, H2_TCP -> "call abort_session(%d)";
        };
        try (Connection session = server.connection();
                Statement statement = session.createStatement()) {
            for (long id : others(statement)) {
                if (chosen.test(id)) {
                    boolean unused = statement.execute(kill.formatted(id));
                }
            }
        }
    }

    /** Leaves room for a few more sessions, and takes that too. */
    void takeAll(Meanwhile meanwhile) throws SQLException, InterruptedException {
        List<Connection> foreign = new ArrayList<>();
        limit(Math.max(LOWEST_LIMIT, count() + ROOM));
        try {
            while (isAdded(foreign)) {
                // One more.
            }
            meanwhile.run();
        } finally {
            for (Connection session : foreign) {
                session.close();
            }
            limitNoMore();
        }
    }

    private boolean isAdded(List<Connection> foreign) {
        try {
            foreign.add(server.connection());
            return true;
        } catch (SQLException tooMany) {
            return false;
        }
    }

    private int count() throws SQLException {
        try (Connection session = server.connection();
                Statement statement = session.createStatement()) {
            return others(statement).size();
        }
    }

    private void limit(int sessions) throws InterruptedException {
        server.administer(
                isPostgresql()
                        ? "alter role %s connection limit %d".formatted(server.user(), sessions)
                        : "set global max_connections = " + sessions);
    }

    private void limitNoMore() throws InterruptedException {
        server.administer(
                isPostgresql()
                        ? "alter role %s connection limit -1".formatted(server.user())
                        : "set global max_connections = 300");
    }

    private List<Long> others(Statement statement) throws SQLException {
        String query = switch (server.kind()) {
            case POSTGRESQL ->
                "select pid from pg_stat_activity where datname = current_database()"
                        + " and backend_type = 'client backend' and pid <> pg_backend_pid()";
            case MARIADB, MYSQL ->
                "select id from information_schema.processlist where db = database() and id <> connection_id()";
            case H2_MEMORY, H2_FILE, H2_TCP ->
                "select session_id from information_schema.sessions where session_id <> session_id()";
        };
        List<Long> ids = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery(query)) {
            while (rows.next()) {
                ids.add(rows.getLong(1));
            }
        }
        return ids;
    }

    private boolean isPostgresql() {
        return server.kind() == TestDatabase.POSTGRESQL;
    }
}
