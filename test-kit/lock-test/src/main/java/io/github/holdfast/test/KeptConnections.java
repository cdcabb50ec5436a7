package io.github.holdfast.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;

/**
 * Connections that stay open between one use and the next, because tests ask a lot and PostgreSQL takes 20 ms to open one. A
 * connection that was ended meanwhile is replaced. Thread-safe.
 */
final class KeptConnections implements AutoCloseable {

    private static final int SECONDS_TO_ANSWER = 5;

    private final DataSource dataSource;
    private final int atMost;
    private final Deque<Connection> idle = new ArrayDeque<>();
    private boolean isClosed;

    /**
     * None at first.
     *
     * @param atMost how many stay open
     */
    KeptConnections(DataSource dataSource, int atMost) {
        this.dataSource = dataSource;
        this.atMost = atMost;
    }

    /** Does work that leaves nothing behind in the session. */
    <T extends @Nullable Object> T use(Sql.Work<Connection, T> work) {
        Connection connection = null;
        try {
            connection = borrowed();
            T result = work.on(connection);
            giveBack(connection);
            return result;
        } catch (SQLException e) {
            end(connection);
            throw new IllegalStateException(e.getMessage(), e);
        } catch (RuntimeException | Error e) {
            end(connection);
            throw e;
        }
    }

    private Connection borrowed() throws SQLException {
        Connection kept;
        while ((kept = next()) != null) {
            if (kept.isValid(SECONDS_TO_ANSWER)) {
                return kept;
            }
            end(kept);
        }
        return dataSource.getConnection();
    }

    private synchronized @Nullable Connection next() {
        return idle.poll();
    }

    private synchronized void giveBack(Connection connection) {
        if (isClosed || idle.size() >= atMost) {
            end(connection);
        } else {
            idle.add(connection);
        }
    }

    private static void end(@Nullable Connection connection) {
        try {
            if (connection != null) {
                connection.close();
            }
        } catch (SQLException e) {
            // The server has ended it.
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        idle.forEach(KeptConnections::end);
        idle.clear();
    }
}
