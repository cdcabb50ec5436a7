package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MySQLDialect;

/**
 * Whether several servers may write the database at the same time. Each of them has row locks of its own, of which the others know
 * nothing; only of a changed row do they find out, when the transaction commits.
 */
public enum Cluster {

    /** One server writes. Others may follow it, and take its place. */
    NONE("one server that writes"),

    /** MariaDB or MySQL with Galera, however many nodes there are now, and whichever of them the application writes to. */
    GALERA("a Galera cluster"),

    /** MySQL's Group Replication, set up for several primaries. */
    GROUP_REPLICATION("Group Replication with several primaries");

    private static final String VARIABLES = "show global variables where variable_name in"
            + " ('wsrep_on', 'wsrep_provider', 'group_replication_single_primary_mode')";

    private final String label;

    Cluster(String label) {
        this.label = label;
    }

    /**
     * Asks the server. One statement on MySQL and MariaDB, which needs no rights; none elsewhere.
     *
     * <p>How many nodes a Galera cluster has makes no difference: one that joins later tells nobody. Of Group Replication the mode
     * counts, not whether it runs: it may be started later.
     */
    static Cluster of(Connection connection, Dialect dialect) throws SQLException {
        return dialect instanceof MySQLDialect ? of(variables(connection)) : NONE;
    }

    private static Map<String, String> variables(Connection connection) throws SQLException {
        Map<String, String> variables = new HashMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(VARIABLES)) {
            while (result.next()) {
                variables.put(result.getString(1).toLowerCase(Locale.ROOT), result.getString(2));
            }
        }
        return variables;
    }

    /**
     * Without a provider, {@code wsrep_on} does nothing; Percona's server has it on then, too
     * (https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables).
     */
    static Cluster of(Map<String, String> variables) {
        String provider = variables.getOrDefault("wsrep_provider", "none");
        if ("ON".equalsIgnoreCase(variables.get("wsrep_on")) && !provider.isBlank() && !provider.equals("none")) {
            return GALERA;
        }
        // There is no such variable unless the plugin is loaded.
        return "OFF".equalsIgnoreCase(variables.get("group_replication_single_primary_mode"))
                ? GROUP_REPLICATION
                : NONE;
    }

    /** Whether more than one server may write, now or once another one joins. */
    public boolean hasSeveralWriters() {
        return this != NONE;
    }

    /** Returns what it is, for people, with an article if it has one. */
    public String label() {
        return label;
    }
}
