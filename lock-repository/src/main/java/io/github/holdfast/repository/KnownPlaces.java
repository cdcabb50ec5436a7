package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MySQLDialect;
import org.jspecify.annotations.Nullable;

/**
 * Where the rows of nodes were found: in which databases a lock can be held through a node without asking for its row again. On MySQL
 * and MariaDB to ask takes a sixth of the time of a grant, and the driver knows in which database its connection is. PostgreSQL asks
 * in next to no time, and there a connection may go over to another schema without its driver's knowledge. Thread-safe.
 */
final class KnownPlaces {

    /** More than there are databases and nodes of a process, unless each connection has a URL of its own. */
    private static final int MOST = 1000;

    private final boolean areRemembered;

    /** Replaced by a larger one when a place is added; one that gets lost is added again. */
    private volatile Set<Place> places = Set.of();

    private record Place(
            String nodeId, String url, @Nullable String catalog) {}

    KnownPlaces(Dialect dialect) {
        areRemembered = dialect instanceof MySQLDialect;
    }

    /** Whether the node's row was found where this connection leads. No statement. */
    boolean has(@Nullable String nodeId, Connection connection) throws SQLException {
        return nodeId == null || (areRemembered && places.contains(place(nodeId, connection)));
    }

    /** The node's row was found where this connection leads. */
    void add(String nodeId, Connection connection) throws SQLException {
        if (!areRemembered) {
            return;
        }
        Set<Place> more = new HashSet<>(places.size() < MOST ? places : Set.of());
        more.add(place(nodeId, connection));
        places = more;
    }

    /** What was found may be found no more. */
    void forget() {
        places = Set.of();
    }

    private static Place place(String nodeId, Connection connection) throws SQLException {
        return new Place(nodeId, connection.getMetaData().getURL(), connection.getCatalog());
    }
}
