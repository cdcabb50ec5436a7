package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A cluster of MySQL or MariaDB in which several servers may write the database at the same time. Such servers do not see each
 * other's row locks. They detect conflicting changes of a row only when a transaction commits.
 */
enum MysqlCluster {

    /**
     * MariaDB or MySQL with Galera. The current number of nodes does not matter, nor does the node that the application writes
     * to.
     */
    GALERA("a Galera cluster"),

    /** MySQL's Group Replication in multi-primary mode. */
    GROUP_REPLICATION("Group Replication with several primaries");

    private static final List<String> VARIABLES =
            List.of("wsrep_on", "wsrep_provider", "group_replication_single_primary_mode");

    private final String label;

    MysqlCluster(String label) {
        this.label = label;
    }

    /**
     * Asks the server for its kind of cluster. One statement, without any privilege.
     *
     * <p>A Galera cluster with one node counts too, because another node may join later without notice. For Group Replication,
     * the configured mode counts even if replication is stopped, because it may start later.
     *
     * @return empty if one server writes. Others may replicate it and take over from it.
     */
    static Optional<MysqlCluster> of(Connection connection) throws SQLException {
        return of(MysqlRisks.variables(connection, VARIABLES));
    }

    /**
     * Derives the kind from the server's variables. {@code wsrep_on} has no effect without a provider, but Percona's server sets
     * it even then (https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables).
     */
    static Optional<MysqlCluster> of(Map<String, String> variables) {
        String provider = variables.getOrDefault("wsrep_provider", "none");
        if ("ON".equalsIgnoreCase(variables.get("wsrep_on")) && !provider.isBlank() && !provider.equals("none")) {
            return Optional.of(GALERA);
        }
        // The variable is absent if the plugin is not loaded.
        return "OFF".equalsIgnoreCase(variables.get("group_replication_single_primary_mode"))
                ? Optional.of(GROUP_REPLICATION)
                : Optional.empty();
    }

    /** Returns the name for messages, with an article if the name needs one. */
    String label() {
        return label;
    }
}
