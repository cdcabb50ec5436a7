package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.function.Supplier;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection that listens. Loaded only where the driver is there ({@link PostgresDriver} looks): an application on another
 * database does not have it.
 *
 * <p>The driver hears notifications only while the connection is in no transaction, and does not notice a connection that has
 * silently died (https://github.com/pgjdbc/pgjdbc/issues/1144).
 */
final class PostgresNotifications {

    private static final Logger LOG = LoggerFactory.getLogger(PostgresNotifications.class);

    private static final int ROUND_MILLIS = 250;

    /** After so many rounds in which nothing was heard it is asked whether the connection lives. */
    private static final int SILENT_ROUNDS = 20;

    private static final int ANSWER_SECONDS = 5;

    private final Connection connection;
    private final String channel;

    PostgresNotifications(Connection connection, String channel) {
        this.connection = connection;
        this.channel = channel;
    }

    /**
     * Listens until the receiver wants no more, and leaves the connection as it came.
     *
     * @param probe sends a notification through another connection, and returns it
     */
    void hear(WakeUpChannel.Receiver receiver, Supplier<String> probe) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        try {
            connection.setAutoCommit(true);
            execute("listen " + channel);
            hear(receiver, probe.get(), connection.unwrap(PGConnection.class));
        } finally {
            leave(autoCommit);
        }
    }

    private void hear(WakeUpChannel.Receiver receiver, String probe, PGConnection driver) throws SQLException {
        boolean isProven = false;
        int silentRounds = 0;
        while (receiver.isOpen()) {
            PGNotification[] notifications = driver.getNotifications(ROUND_MILLIS);
            for (PGNotification heard : notifications) {
                isProven |= tell(receiver, heard.getParameter(), probe);
            }
            silentRounds = notifications.length == 0 ? silentRounds + 1 : 0;
            if (silentRounds == SILENT_ROUNDS) {
                checkLives(isProven);
                silentRounds = 0;
            }
        }
    }

    private static boolean tell(WakeUpChannel.Receiver receiver, String heard, String probe) {
        if (heard.equals(probe)) {
            receiver.ready();
            return true;
        }
        receiver.givenBack(heard);
        return false;
    }

    private void checkLives(boolean isProven) throws SQLException {
        if (!isProven) {
            throw new SQLException(
                    "No notification arrives: is there a pooler in transaction mode in between?", "08000");
        }
        if (!connection.isValid(ANSWER_SECONDS)) {
            throw new SQLException("The connection that listens does not answer any more", "08006");
        }
    }

    /** A pool that is given a broken connection back learns of it here: the driver was asked past it. */
    private void leave(boolean autoCommit) {
        try {
            int timeout = connection.getNetworkTimeout();
            connection.setNetworkTimeout(Runnable::run, ANSWER_SECONDS * 1000);
            execute("unlisten " + channel);
            connection.setAutoCommit(autoCommit);
            connection.setNetworkTimeout(Runnable::run, timeout);
        } catch (SQLException broken) {
            LOG.debug("A connection broke that has listened", broken);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
