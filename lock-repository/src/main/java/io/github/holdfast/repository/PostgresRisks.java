package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What a PostgreSQL server says of its disk, of logical replication into the lock tables, and of extensions for several writers. */
final class PostgresRisks {

    private static final Logger LOG = LoggerFactory.getLogger(PostgresRisks.class);

    private static final String UNFLUSHED = "select name || '=' || setting from pg_settings"
            + " where name in ('fsync', 'synchronous_commit') and setting = 'off' order by name";

    /** The tables' names, as an array of texts; null for a name without a table. */
    private static final String TABLES = "select to_regclass(t) from unnest(cast(? as text[])) t";

    /** See https://www.postgresql.org/docs/current/catalog-pg-subscription-rel.html. */
    private static final String SUBSCRIPTIONS = "select 'the subscription ' || s.subname from pg_subscription_rel r"
            + " join pg_subscription s on s.oid = r.srsubid where s.subenabled and r.srrelid in (" + TABLES + ")";

    /** Extensions whose servers all write: https://github.com/pgEdge/spock, https://www.enterprisedb.com/docs/pgd/latest/,
     * https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/Appendix.PostgreSQL.CommonDBATasks.pgactive.html. */
    private static final String EXTENSIONS =
            "select extname from pg_extension where extname in ('bdr', 'citus', 'pgactive', 'spock')";

    /** See https://docs.citusdata.com/en/stable/develop/api_metadata.html. */
    private static final String DISTRIBUTED =
            "select 'citus' from pg_catalog.pg_dist_partition where logicalrelid in (" + TABLES + ")";

    private final Connection connection;
    private final List<String> tables;

    private PostgresRisks(Connection connection, List<String> tables) {
        this.connection = connection;
        this.tables = tables;
    }

    /** Asks for the risks. Three statements, and one more with Citus. */
    static Map<DatabaseRisk, String> of(Connection connection, List<String> tables) throws SQLException {
        return new PostgresRisks(connection, tables).found();
    }

    private Map<DatabaseRisk, String> found() throws SQLException {
        Map<DatabaseRisk, String> risks = new EnumMap<>(DatabaseRisk.class);
        List<String> unflushed = texts(UNFLUSHED);
        if (!unflushed.isEmpty()) {
            risks.put(
                    DatabaseRisk.UNFLUSHED_COMMITS,
                    "The database acknowledges commits before they are on its disk (" + String.join(", ", unflushed)
                            + "). After a crash, a lock may be granted while its holder still relies on it. Set fsync and"
                            + " synchronous_commit to on");
        }
        List<String> extensions = texts(EXTENSIONS);
        List<String> writers = otherWriters(extensions);
        if (extensions.contains("citus") && !permitted(DISTRIBUTED).isEmpty()) {
            risks.put(
                    DatabaseRisk.REPLICATED_TABLES,
                    "Citus has distributed the lock tables, so several servers execute statements, each by its own clock. Keep them"
                            + " local on one server, and let all applications lock there");
        } else if (!writers.isEmpty()) {
            risks.put(
                    DatabaseRisk.REPLICATED_TABLES,
                    "Another server writes the lock tables too, by " + String.join(", ", writers)
                            + ". Both may grant the same"
                            + " lock, because conflicting changes of a row overwrite each other without an error. Exclude the"
                            + " tables of Holdfast from that replication, and let all applications lock on one server");
        }
        return risks;
    }

    private List<String> otherWriters(List<String> extensions) throws SQLException {
        return Stream.concat(
                        permitted(SUBSCRIPTIONS).stream(),
                        extensions.stream()
                                .filter(extension -> !extension.equals("citus"))
                                .map(extension -> "the extension " + extension))
                .toList();
    }

    /** Reads texts for the tables; none if the user may not read them. */
    private List<String> permitted(String query) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setArray(1, connection.createArrayOf("text", tables.toArray()));
            return texts(statement.executeQuery());
        } catch (SQLException refused) {
            if (refused.getSQLState() == null || !refused.getSQLState().startsWith("42")) {
                throw refused;
            }
            LOG.debug("The user may not read the replication of the server, so it is not checked", refused);
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
            return List.of();
        }
    }

    private List<String> texts(String query) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return texts(statement.executeQuery(query));
        }
    }

    private static List<String> texts(ResultSet rows) throws SQLException {
        List<String> texts = new ArrayList<>();
        while (rows.next()) {
            texts.add(rows.getString(1));
        }
        return texts;
    }
}
