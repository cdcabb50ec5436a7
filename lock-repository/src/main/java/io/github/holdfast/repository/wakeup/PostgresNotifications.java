package io.github.holdfast.repository.wakeup;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.function.Supplier;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens for notifications on one connection. The JVM loads this class only if PostgreSQL's driver is present; {@code
 * PostgresDriver} checks that first.
 *
 * <p>The driver receives notifications only outside a transaction, and does not notice when a connection dies silently
 * (https://github.com/pgjdbc/pgjdbc/issues/1144).
 */
final class PostgresNotifications {

    private static final Logger LOG = LoggerFactory.getLogger(PostgresNotifications.class);

    private static final int ROUND_MILLIS = 250;

    /** The number of rounds without a notification until the connection is tested. */
    private static final int SILENT_ROUNDS = 20;

    private static final int ANSWER_SECONDS = 5;

    private final Connection connection;
    private final String channel;
    private final String prefix;

    /**
     * Creates a listener.
     *
     * @param bell the number with which a notification for this service begins
     */
    PostgresNotifications(Connection connection, String channel, long bell) {
        this.connection = connection;
        this.channel = channel;
        this.prefix = bell + " ";
    }

    /**
     * Listens until the receiver is closed, and restores the connection's autocommit mode.
     *
     * @param probe sends a notification through another connection, and returns it
     * @param proven called when that notification has arrived, before the receiver is ready
     */
    void hear(WakeUpChannel.Receiver receiver, Supplier<String> probe, Runnable proven) throws SQLException {
        boolean autoCommit = connection.getAutoCommit();
        try {
            connection.setAutoCommit(true);
            execute("listen " + channel);
            hear(receiver, probe.get(), proven, connection.unwrap(PGConnection.class));
        } finally {
            leave(autoCommit);
        }
    }

    private void hear(WakeUpChannel.Receiver receiver, String probe, Runnable proven, PGConnection driver)
            throws SQLException {
        boolean isProven = false;
        int silentRounds = 0;
        while (receiver.isOpen()) {
            PGNotification[] notifications = driver.getNotifications(ROUND_MILLIS);
            for (PGNotification heard : notifications) {
                if (heard.getParameter().equals(probe)) {
                    isProven = true;
                    proven.run();
                    receiver.ready();
                } else {
                    tell(receiver, heard.getParameter());
                }
            }
            silentRounds = notifications.length == 0 ? silentRounds + 1 : 0;
            if (silentRounds == SILENT_ROUNDS) {
                checkLives(isProven);
                silentRounds = 0;
            }
        }
    }

    /** Passes a notification on. It begins with the bell for which it is. */
    private void tell(WakeUpChannel.Receiver receiver, String payload) {
        if (payload.startsWith(prefix)) {
            receiver.lockReleased(payload.substring(prefix.length()));
        } else if (payload.indexOf(' ') > 0) {
            receiver.awaitedElsewhere(payload.substring(payload.indexOf(' ') + 1));
        }
    }

    private void checkLives(boolean isProven) throws SQLException {
        if (!isProven) {
            throw new SQLException("No notification arrives, perhaps because of a pooler in transaction mode", "08000");
        }
        if (!connection.isValid(ANSWER_SECONDS)) {
            throw new SQLException("The listening connection no longer answers", "08006");
        }
    }

    /** Stops listening. If the connection is broken, its pool notices now; earlier calls went to the driver directly. */
    private void leave(boolean autoCommit) {
        try {
            int timeout = connection.getNetworkTimeout();
            connection.setNetworkTimeout(Runnable::run, ANSWER_SECONDS * 1000);
            execute("unlisten " + channel);
            connection.setAutoCommit(autoCommit);
            connection.setNetworkTimeout(Runnable::run, timeout);
        } catch (SQLException broken) {
            LOG.debug("The listening connection broke", broken);
        }
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
