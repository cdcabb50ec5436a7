package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.jdbc.PostgresDriver;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Remembers which databases contain the rows of which nodes, so that later grants there skip the check of the node's row. That check
 * is a subplan of each grant: on MySQL and MariaDB, it takes a sixth of the grant's time.
 *
 * <p>The drivers of MySQL and MariaDB know the current database of their connection. PostgreSQL's driver does not notice when a
 * connection switches to another schema. There, the cache has the number of the table as well, and the grant writes only to that
 * table. Another server behind the same URL may have the same numbers, so each session of the server is a place of its own there. On
 * H2, this class remembers nothing. Thread-safe.
 */
final class NodeLocationCache {

    /** The number in place of a table's, where the connection alone proves the place. */
    static final long BY_CONNECTION = 0;

    /** A limit above any usual number of databases times nodes in a process. Only connections with a URL each could exceed it. */
    private static final int MOST = 1000;

    /** Remembers nothing, so that each grant checks its node. */
    static final NodeLocationCache NONE = new NodeLocationCache(false, false);

    private final boolean areTablesCompared;
    private volatile boolean areRemembered;

    /** The tables of the locks, by place. A change replaces the map by another one. If a race loses a place, a later grant adds it again. */
    private volatile Map<Place, Long> tables = Map.of();

    /** @param session the number of the server's session; 0 if the driver does not report it */
    private record Place(
            String nodeId, String url, @Nullable String catalog, long session) {}

    NodeLocationCache(LockDialect dialect) {
        this(
                dialect.tableIdColumn().isPresent(),
                dialect.knowsPlaces() || dialect.tableIdColumn().isPresent());
    }

    private NodeLocationCache(boolean areTablesCompared, boolean areRemembered) {
        this.areTablesCompared = areTablesCompared;
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

    /** Whether a grant names the table that it writes to, because the connection does not prove the place. */
    boolean areTablesCompared() {
        return areTablesCompared;
    }

    /**
     * Records that the database of this connection contains the node's row, beside this table of locks. Does nothing if the table has
     * to be compared, and the driver has not returned its number.
     */
    void add(String nodeId, Connection connection, long table) throws SQLException {
        if (areTablesCompared && table == BY_CONNECTION) {
            return;
        }
        Place place = place(nodeId, connection);
        change(places -> {
            if (places.size() >= MOST) {
                places.clear();
            }
            places.put(place, table);
        });
    }

    private void change(Consumer<Map<Place, Long>> change) {
        Map<Place, Long> changed = new HashMap<>(tables);
        change.accept(changed);
        tables = changed;
    }

    /** Remembers nothing from now on: the table of locks is a view, and the rows of a view are in no table. */
    void stop() {
        areRemembered = false;
    }

    boolean areRemembered() {
        return areRemembered;
    }

    /** Forgets a place, because the connection may now lead to another schema. */
    void forget(String nodeId, Connection connection) throws SQLException {
        Place place = place(nodeId, connection);
        change(places -> places.remove(place));
    }

    /** Forgets all places, because the rows may be gone. */
    void forget() {
        tables = Map.of();
    }

    private Place place(String nodeId, Connection connection) throws SQLException {
        return new Place(
                nodeId,
                connection.getMetaData().getURL(),
                connection.getCatalog(),
                areTablesCompared ? PostgresDriver.session(connection) : 0);
    }
}
