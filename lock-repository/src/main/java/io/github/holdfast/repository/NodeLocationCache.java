package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Remembers which databases contain the rows of which nodes, so that later grants there skip the check of the node's row. That check
 * is a subplan of each grant: on MySQL and MariaDB, it takes a sixth of the grant's time.
 *
 * <p>The drivers of MySQL and MariaDB know the current database of their connection. PostgreSQL's driver does not notice when a
 * connection switches to another schema. There, the cache has the number of the table as well, and the grant writes only to that
 * table. On H2, this class remembers nothing. Thread-safe.
 */
final class NodeLocationCache {

    /** The number in place of a table's, where the connection alone proves the place. */
    static final long BY_CONNECTION = 0;

    /** A limit above any usual number of databases times nodes in a process. Only connections with a URL each could exceed it. */
    private static final int MOST = 1000;

    /** Remembers nothing, so that each grant checks its node. */
    static final NodeLocationCache NONE = new NodeLocationCache(false);

    private final boolean areRemembered;

    /** The tables of the locks, by place. */
    private final Map<Place, Long> tables = new ConcurrentHashMap<>();

    private record Place(
            String nodeId, String url, @Nullable String catalog) {}

    NodeLocationCache(LockDialect dialect) {
        this(dialect.knowsPlaces() || dialect.tableIdColumn().isPresent());
    }

    private NodeLocationCache(boolean areRemembered) {
        this.areRemembered = areRemembered;
    }

    /**
     * Returns the number of the table of locks that is in the same place as the node's row, in the database of this connection; null if
     * that is not known. No statement.
     */
    @Nullable
    Long table(String nodeId, Connection connection) throws SQLException {
        return areRemembered ? tables.get(place(nodeId, connection)) : null;
    }

    /** Records that the database of this connection contains the node's row, beside this table of locks. */
    void add(String nodeId, Connection connection, long table) throws SQLException {
        if (!areRemembered) {
            return;
        }
        if (tables.size() >= MOST) {
            forget();
        }
        tables.put(place(nodeId, connection), table);
    }

    /** Forgets a place, because the connection may now lead to another schema. */
    void forget(String nodeId, Connection connection) throws SQLException {
        tables.remove(place(nodeId, connection));
    }

    /** Forgets all places, because the rows may be gone. */
    void forget() {
        tables.clear();
    }

    private static Place place(String nodeId, Connection connection) throws SQLException {
        return new Place(nodeId, connection.getMetaData().getURL(), connection.getCatalog());
    }
}
