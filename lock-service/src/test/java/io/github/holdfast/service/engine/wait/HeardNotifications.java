package io.github.holdfast.service.engine.wait;

import static java.util.Objects.requireNonNull;

import io.github.holdfast.test.Database;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/** What is sent through the channel of a database's locks; nothing here uses the code under test. */
final class HeardNotifications implements AutoCloseable {

    private final Connection connection;
    private final String channel;

    private HeardNotifications(Connection connection, String channel) {
        this.connection = connection;
        this.channel = channel;
    }

    /** From now on. */
    static HeardNotifications on(Database database) throws SQLException {
        String channel = "holdfast_" + database.queryForLong("select 'distributed_lock'::regclass::oid");
        Connection connection = database.dataSource().getConnection();
        HeardNotifications heard = new HeardNotifications(connection, channel);
        try (Statement statement = connection.createStatement()) {
            statement.execute("listen " + channel);
        }
        return heard;
    }

    /** Sends what a release would. */
    void send(String payload) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement("select pg_notify(?, ?)")) {
            statement.setString(1, channel);
            statement.setString(2, payload);
            statement.execute();
        }
    }

    /** What was sent since this was asked last, in the order of the commits, without what services try their connections with. */
    List<String> soFar() throws SQLException {
        String last = UUID.randomUUID().toString();
        send(last);
        List<String> payloads = new ArrayList<>();
        while (!payloads.contains(last)) {
            payloads.addAll(read());
        }
        payloads.remove(last);
        payloads.removeIf(payload -> payload.startsWith(" "));
        return payloads;
    }

    /** By reflection: the compiler would warn of the driver's annotations, whose library it does not see. */
    private List<String> read() throws SQLException {
        Class<?> type = ClassUtils.resolveClassName(
                "org.postgresql.PGConnection", getClass().getClassLoader());
        Object[] notifications = (Object[]) invoke(connection.unwrap(type), type, "getNotifications");
        return Arrays.stream(notifications)
                .map(notification -> (String) invoke(
                        notification,
                        ClassUtils.resolveClassName(
                                "org.postgresql.PGNotification", getClass().getClassLoader()),
                        "getParameter"))
                .toList();
    }

    private static Object invoke(Object target, Class<?> type, String method) {
        return requireNonNull(
                ReflectionUtils.invokeMethod(requireNonNull(ReflectionUtils.findMethod(type, method)), target));
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}
