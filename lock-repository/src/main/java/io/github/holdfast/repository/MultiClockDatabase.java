package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Databases that speak the protocol of a supported one, but whose statements several servers execute, each by its own clock. A lease
 * may then have expired for one server and not for another, so that two owners hold a lock. See {@link DatabaseRisk#DISTRIBUTED_SQL}.
 *
 * <p>Sources: https://docs.pingcap.com/tidb/stable/tidb-architecture/, https://www.cockroachlabs.com/docs/stable/architecture/sql-layer,
 * https://docs.yugabyte.com/preview/architecture/query-layer/, https://vitess.io/docs/concepts/vtgate/,
 * https://en.oceanbase.com/docs/common-oceanbase-database-10000000001970964.
 */
enum MultiClockDatabase {
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
     * Returns the risk of the connected server, if it is one of these. A proxy may say less to the driver than the server says. One statement.
     *
     * @param version a query for one text, the version
     */
    static Optional<String> risk(Connection connection, String version) throws SQLException {
        String driver = String.valueOf(connection.getMetaData().getDatabaseProductVersion());
        try (Statement statement = connection.createStatement();
                ResultSet answer = statement.executeQuery(version)) {
            return risk(answer.next() ? driver + " " + answer.getString(1) : driver);
        }
    }

    /**
     * Returns the risk of a database that is one of these.
     *
     * @param text a text in which it names itself: a version, or the name of a dialect
     */
    static Optional<String> risk(String text) {
        return Stream.of(values())
                .filter(database -> text.contains(database.mark))
                .findFirst()
                .map(database -> "Holdfast does not support " + database.label
                        + ": several of its servers execute statements, each by its own clock, and it was not tested. Use PostgreSQL,"
                        + " MySQL, MariaDB or H2 for the locks");
    }
}
