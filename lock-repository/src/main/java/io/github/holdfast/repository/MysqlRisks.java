package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a server of MySQL or MariaDB says of its disk and of its replication. Only MySQL needs a privilege, for the replication. */
final class MysqlRisks {

    private static final Logger LOG = LoggerFactory.getLogger(MysqlRisks.class);

    /** Group Replication has channels of its own. Not {@code like}, whose escapes depend on the {@code sql_mode}. */
    static final String NOT_OF_THE_GROUP = "left(c.channel_name, 18) <> 'group_replication_'";

    /**
     * Channels that receive and apply changes now. After a failover, the channel to the old server still exists, and does not receive
     * (https://dev.mysql.com/doc/refman/8.4/en/performance-schema-replication-connection-status-table.html).
     */
    private static final String CHANNELS = "select c.channel_name, 'ON' from"
            + " performance_schema.replication_connection_status c join performance_schema.replication_applier_status a"
            + " on a.channel_name = c.channel_name where c.service_state = 'ON' and a.service_state = 'ON'"
            + " and " + NOT_OF_THE_GROUP;

    private MysqlRisks() {}

    /** Reads the variables of the server, by their names in lower case. No privilege. One statement. */
    static Map<String, String> variables(Connection connection, List<String> names) throws SQLException {
        return pairs(connection, "show global variables where variable_name in ('" + String.join("', '", names) + "')");
    }

    static Map<DatabaseRisk, String> of(Connection connection) throws SQLException {
        Map<DatabaseRisk, String> risks = new EnumMap<>(DatabaseRisk.class);
        List<String> unflushed =
                unflushed(variables(connection, List.of("innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin")));
        if (!unflushed.isEmpty()) {
            risks.put(
                    DatabaseRisk.UNFLUSHED_COMMITS,
                    "The database acknowledges commits before they are on its disk (" + String.join(", ", unflushed)
                            + "). After a crash of its machine, a lock may be granted while its holder still relies on it. Set"
                            + " innodb_flush_log_at_trx_commit=1 and sync_binlog=1");
        }
        if (isReplica(connection)) {
            risks.put(
                    DatabaseRisk.WRITABLE_REPLICA,
                    "The database server can be written, and applies the changes of another server. If that one is written too,"
                            + " both may grant the same lock. Let one server write: stop the replication here, or set read_only"
                            + " on the other server");
        }
        return risks;
    }

    /** Without the log of binary changes, its setting has no effect. */
    static List<String> unflushed(Map<String, String> variables) {
        List<String> unflushed = new ArrayList<>();
        String redo = variables.getOrDefault("innodb_flush_log_at_trx_commit", "1");
        if (!redo.equals("1") && !redo.equals("3")) {
            unflushed.add("innodb_flush_log_at_trx_commit=" + redo);
        }
        String binlog = variables.getOrDefault("sync_binlog", "1");
        if ("ON".equalsIgnoreCase(variables.get("log_bin")) && !binlog.equals("1")) {
            unflushed.add("sync_binlog=" + binlog);
        }
        return unflushed;
    }

    /**
     * Whether the server applies the changes of another one now. MariaDB shows it without a privilege, but only of the connection without a name
     * (https://mariadb.com/docs/server/ha-and-performance/optimization-and-tuning/system-variables/replication-and-binary-log-status-variables).
     */
    private static boolean isReplica(Connection connection) throws SQLException {
        String status = pairs(connection, "show global status where variable_name = 'Slave_running'")
                .get("slave_running");
        if (status != null) {
            return status.equalsIgnoreCase("ON");
        }
        try {
            return !pairs(connection, CHANNELS).isEmpty();
        } catch (SQLException refused) {
            LOG.debug("The user may not read the replication of the server, so it is not checked", refused);
            return false;
        }
    }

    private static Map<String, String> pairs(Connection connection, String query) throws SQLException {
        Map<String, String> pairs = new HashMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(query)) {
            while (result.next()) {
                pairs.put(result.getString(1).toLowerCase(Locale.ROOT), result.getString(2));
            }
        }
        return pairs;
    }
}
