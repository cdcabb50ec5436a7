package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/**
 * Databases that speak the protocol of a supported one, but whose statements several servers execute, each by its own clock. A lease
 * may then have expired for one server and not for another, so that two owners hold a lock. Their drivers and dialects do not show it.
 *
 * <p>Sources: https://docs.pingcap.com/tidb/stable/tidb-architecture/, https://www.cockroachlabs.com/docs/stable/architecture/sql-layer,
 * https://docs.yugabyte.com/preview/architecture/query-layer/, https://vitess.io/docs/concepts/vtgate/,
 * https://en.oceanbase.com/docs/common-oceanbase-database-10000000001970964.
 *
 * <p>Not for applications.
 */
public enum MultiClockDatabase {
    COCKROACH_DB("CockroachDB", "Cockroach"),
    OCEAN_BASE("OceanBase", "OceanBase"),
    TIDB("TiDB", "TiDB"),
    VITESS("Vitess", "Vitess"),
    YUGABYTE_DB("YugabyteDB", "-YB-");

    private final String label;

    /** What only this database has in its version, or in the name of its dialect. */
    private final String mark;

    MultiClockDatabase(String label, String mark) {
        this.label = label;
        this.mark = mark;
    }

    /**
     * Refuses the database if it is one of these, by what the server says of itself. One statement.
     *
     * @param version a query for one text
     */
    static void refuse(Connection connection, String version) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet answer = statement.executeQuery(version)) {
            if (answer.next()) {
                refuse(answer.getString(1));
            }
        }
    }

    /**
     * Refuses the database if it is one of these.
     *
     * @param text a text in which it names itself: a version as the driver or the server reports it, or the name of a dialect; null if
     *     it says nothing
     * @throws UnsupportedDatabaseException with the reason, and what to do
     */
    public static void refuse(@Nullable String text) {
        for (MultiClockDatabase database : values()) {
            if (text != null && text.contains(database.mark)) {
                throw new UnsupportedDatabaseException("Holdfast does not support " + database.label
                        + ": several of its servers execute statements, each by its own clock,"
                        + " so two owners could hold a lock at the same time. Use PostgreSQL, MySQL, MariaDB or H2 for the"
                        + " locks, with one server that writes");
            }
        }
    }
}
