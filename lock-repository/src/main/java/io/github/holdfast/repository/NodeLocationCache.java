package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Remembers which databases contain the rows of which nodes, so that later grants there skip the check of the node's row. On
 * MySQL and MariaDB, that check takes a sixth of the time of a grant, and the driver knows the current database of its
 * connection. On other databases, this class remembers nothing. PostgreSQL checks the row in next to no time, and its driver does
 * not notice when a connection switches to another schema. Thread-safe.
 */
final class NodeLocationCache {

    /** A limit above any usual number of databases times nodes in a process. Only connections with a URL each could exceed it. */
    private static final int MOST = 1000;

    /** Remembers nothing, so that each grant checks its node. */
    static final NodeLocationCache NONE = new NodeLocationCache(false);

    private final boolean areRemembered;

    /** A new place replaces the set by a larger one. If a race loses a place, a later grant adds it again. */
    private volatile Set<Place> places = Set.of();

    private record Place(
            String nodeId, String url, @Nullable String catalog) {}

    NodeLocationCache(LockDialect dialect) {
        this(dialect.knowsPlaces());
    }

    private NodeLocationCache(boolean areRemembered) {
        this.areRemembered = areRemembered;
    }

    /** Whether the database of this connection is known to contain the node's row. No statement. */
    boolean has(@Nullable String nodeId, Connection connection) throws SQLException {
        return nodeId == null || (areRemembered && places.contains(place(nodeId, connection)));
    }

    /** Records that the database of this connection contains the node's row. */
    void add(String nodeId, Connection connection) throws SQLException {
        if (!areRemembered) {
            return;
        }
        Set<Place> more = new HashSet<>(places.size() < MOST ? places : Set.of());
        more.add(place(nodeId, connection));
        places = more;
    }

    /** Forgets all places, because the rows may be gone. */
    void forget() {
        places = Set.of();
    }

    private static Place place(String nodeId, Connection connection) throws SQLException {
        return new Place(nodeId, connection.getMetaData().getURL(), connection.getCatalog());
    }
}
