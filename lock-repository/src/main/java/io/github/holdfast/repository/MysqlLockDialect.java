package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.MariaDBDialect;
import org.hibernate.dialect.MySQLDialect;

/**
 * MySQL, and what it has in common with MariaDB. Error codes: https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
 * https://mariadb.com/kb/en/mariadb-error-code-reference/.
 *
 * <p>Not for applications.
 */
public sealed class MysqlLockDialect extends LockDialect permits MariaDbLockDialect {

    private static final String ELAPSED =
            "(mod(timestampdiff(microsecond,now(6),sysdate(6))+87300000000,1800000000)-900000000)";

    private static final String NOW = "timestampadd(microsecond," + ELAPSED + ",utc_timestamp(6))";

    /**
     * {@code sysdate(6)} is the wall clock, but in the session's time zone. {@code now(6)} and {@code utc_timestamp(6)} are
     * the statement's start. {@code sysdate(6)} minus {@code now(6)} is the time that the statement has run, because the time
     * zones cancel out. A change of daylight saving time during the statement would shift the lease. So the difference is
     * taken modulo half an hour, from -15 to 15 minutes, because every such change is a multiple of half an hour. See
     * https://dev.mysql.com/doc/refman/8.0/en/date-and-time-functions.html#function_sysdate.
     */
    private static final SqlClock CLOCK = new SqlClock(
            NOW,
            "timestampadd(microsecond," + ELAPSED + "+?1,utc_timestamp(6))",
            "timestampadd(microsecond,?1,utc_timestamp(6))",
            "timestampdiff(microsecond,'1970-01-01'," + NOW + ")",
            "last_insert_id(timestampdiff(microsecond,'1970-01-01',utc_timestamp(6)))");

    /** MySQL's Group Replication: the hook before the commit failed, because the member is leaving or has left the group. */
    private static final int HOOK_FAILED = 3100;

    /** Any error during a commit. */
    private static final int DURING_COMMIT = 1180;

    /** The rollback that the certification of Group Replication demands. */
    private static final int NOT_CERTIFIED = 3101;

    /** A file could not be written, perhaps the binary log. */
    private static final int NOT_WRITTEN_TO_FILE = 1026;

    /**
     * MariaDB and MySQL report any error during a commit as 1180. MariaDB reports 1026 if the binary log could not be synchronized. A
     * recovery may then find the transaction in the log, and commit it. MySQL's Group Replication reports the hook's error and
     * the rollback that certification demands. When a member leaves the group, it aborts transactions that wait for
     * certification with these two codes. The other members may already have received those transactions
     * (https://dev.mysql.com/doc/refman/8.4/en/group-replication-primary-secondary-replication.html).
     */
    private static final Set<Integer> COMMIT_IS_OPEN =
            Set.of(DURING_COMMIT, NOT_WRITTEN_TO_FILE, HOOK_FAILED, NOT_CERTIFIED);

    private static final Map<Integer, Failure> FAILURES = Map.ofEntries(
            // lock wait timeout (also MariaDB's NOWAIT), NOWAIT refused
            Map.entry(1205, Failure.BUSY),
            Map.entry(3572, Failure.BUSY),
            // statement interrupted or timed out (1969: MariaDB)
            Map.entry(1317, Failure.BUSY),
            Map.entry(3024, Failure.BUSY),
            Map.entry(1969, Failure.BUSY),
            Map.entry(1213, Failure.DEADLOCK),
            // duplicate key, changed since read (snapshot isolation), certification failure in a cluster
            Map.entry(1062, Failure.CONFLICT),
            Map.entry(1020, Failure.CONFLICT),
            Map.entry(DURING_COMMIT, Failure.CONFLICT),
            Map.entry(NOT_CERTIFIED, Failure.CONFLICT),
            // too many connections, shutdown, session killed, offline mode, idle session ended; connection killed
            // (MariaDB)
            Map.entry(1040, Failure.UNAVAILABLE),
            Map.entry(1053, Failure.UNAVAILABLE),
            Map.entry(3169, Failure.UNAVAILABLE),
            Map.entry(3032, Failure.UNAVAILABLE),
            Map.entry(4031, Failure.UNAVAILABLE),
            Map.entry(1927, Failure.UNAVAILABLE),
            // MySQL cannot write its binary log, and stops. The commit may be done, or a recovery may do it
            Map.entry(1598, Failure.UNAVAILABLE),
            // the client's codes for a lost connection, which ProxySQL sends as the server's; its code for an
            // unreachable server
            Map.entry(2006, Failure.UNAVAILABLE),
            Map.entry(2013, Failure.UNAVAILABLE),
            Map.entry(9001, Failure.UNAVAILABLE),
            // read_only; transaction_read_only; InnoDB in read-only mode; a member that has left its group
            Map.entry(1290, Failure.READ_ONLY),
            Map.entry(1792, Failure.READ_ONLY),
            Map.entry(1836, Failure.READ_ONLY),
            Map.entry(HOOK_FAILED, Failure.READ_ONLY),
            // out of disk space, memory, system resources, tablespace, lock table entries, memory to sort, transactions
            // (1637); a file could not be written; an error of the storage engine, which undoes the statement (1030)
            Map.entry(1021, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(NOT_WRITTEN_TO_FILE, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1030, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1037, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1038, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1041, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1114, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1206, Failure.INSUFFICIENT_RESOURCES),
            Map.entry(1637, Failure.INSUFFICIENT_RESOURCES));

    @Override
    public String label() {
        return "MySQL";
    }

    @Override
    public boolean isOf(Dialect dialect) {
        return dialect instanceof MySQLDialect && !(dialect instanceof MariaDBDialect);
    }

    @Override
    public boolean isOf(DatabaseMetaData metaData) throws SQLException {
        return metaData.getDatabaseProductName().equals("MySQL") && !isMariaDb(metaData);
    }

    /** MySQL's driver calls a MariaDB server "MySQL", with a version like 11.4.5-MariaDB. */
    static boolean isMariaDb(DatabaseMetaData metaData) throws SQLException {
        return metaData.getDatabaseProductVersion().contains("MariaDB");
    }

    @Override
    public SqlClock clock() {
        return CLOCK;
    }

    /**
     * The clock becomes the statement's start. That is too early if the statement waits for the row (see {@code
     * LockRepository.grantFromNow}). The expression for the exact clock would be a third of the SQL text. The server parses that text
     * each time, and so does the driver without {@code cachePrepStmts}.
     */
    @Override
    public String inAutocommit(String sql) {
        return sql.replace(ELAPSED + "+", "").replace(NOW, "utc_timestamp(6)");
    }

    @Override
    public String schemaScript() {
        return "db/holdfast/mysql.sql";
    }

    /** See https://dev.mysql.com/doc/refman/8.0/en/innodb-consistent-read.html. */
    @Override
    public Snapshots snapshots() {
        return Snapshots.FROM_FIRST_READ;
    }

    @Override
    public Optional<Failure> failureOf(SQLException error) {
        return "S1009".equals(error.getSQLState()) && error.getMessage() != null
                ? ofDriver(error.getMessage())
                : Optional.ofNullable(FAILURES.get(error.getErrorCode()));
    }

    /**
     * What MySQL Connector/J itself reports with the SQLState of any illegal argument.
     *
     * <ul>
     *   <li>After a failover, it sends no writes to the new host unless {@code failOverReadOnly=false}
     *       (https://dev.mysql.com/doc/connector-j/en/connector-j-config-failover.html).
     *   <li>Version 8.0.33 closes its statements when the server ends the session, also one that is under way.
     * </ul>
     */
    private static Optional<Failure> ofDriver(String message) {
        if (message.startsWith("Connection is read-only")) {
            return Optional.of(Failure.READ_ONLY);
        }
        return message.startsWith("No operations allowed after statement closed")
                ? Optional.of(Failure.UNAVAILABLE)
                : Optional.empty();
    }

    @Override
    public boolean isCommitOpen(SQLException error) {
        return COMMIT_IS_OPEN.contains(error.getErrorCode());
    }

    /** Refuses databases that only speak MySQL's protocol, and a server whose wall clock cannot be read. */
    @Override
    public void check(Connection connection) throws SQLException {
        MultiClockDatabase.refuse(connection, "select concat(version(), ' ', @@version_comment)");
        if (!isSysdateTheWallClock(connection)) {
            throw new IllegalStateException(
                    "The database server runs with sysdate-is-now: leases would be shortened by the time that a"
                            + " statement waits for a row; start the server without that option");
        }
        if (isTrue(connection, "select @@sql_safe_updates")) {
            throw new IllegalStateException(
                    "The sessions have sql_safe_updates, which refuses what housekeeping deletes: remove it"
                            + " from the session variables of the URL or the pool");
        }
    }

    /**
     * Whether sysdate() is the wall clock. With sysdate-is-now, it is the statement's start, as now() is, and both return the
     * same time after a pause.
     */
    private static boolean isSysdateTheWallClock(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(
                        "select if(sleep(0.002) = 0, timestampdiff(microsecond, now(6), sysdate(6)), 0)")) {
            return result.next() && result.getLong(1) > 0;
        }
    }

    @Override
    public Map<DatabaseRisk, String> risks(Connection connection, List<String> tables) throws SQLException {
        return MysqlRisks.of(connection);
    }

    @Override
    public Optional<String> severalWriters(Connection connection) throws SQLException {
        return MysqlCluster.of(connection).map(MysqlCluster::label);
    }

    /** Table names differ by case where file names do. */
    @Override
    String folded(String identifier) {
        return identifier;
    }

    @Override
    Optional<String> exactCollation() {
        return Optional.of("utf8mb4_0900_bin");
    }

    /** Access denied to the database, a command on the table or the column denied, a privilege is missing. */
    @Override
    boolean isMissingRight(SQLException error) {
        return Set.of(1044, 1142, 1143, 1227).contains(error.getErrorCode());
    }

    /** Unknown database, no database selected. */
    @Override
    boolean isSchemaMissing(SQLException error) {
        return error.getErrorCode() == 1049 || error.getErrorCode() == 1046;
    }

    /** A server that is not the source of replication is set to read-only. */
    @Override
    boolean isReplica(Connection connection) throws SQLException {
        return isTrue(connection, "select @@global.read_only");
    }

    @Override
    public WakeUp wakeUp() {
        return WakeUp.BELL;
    }

    @Override
    public boolean knowsPlaces() {
        return true;
    }

    /** At REPEATABLE READ (https://dev.mysql.com/doc/refman/8.0/en/innodb-locks-set.html); new shares would wait for it. */
    @Override
    public boolean locksWhatAnInsertReads() {
        return true;
    }
}
