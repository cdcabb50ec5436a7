package example.derby;

import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.RowGuard;
import io.github.holdfast.repository.SqlClock;
import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import org.hibernate.dialect.Dialect;

/**
 * Apache Derby inside the JVM. Its waits for a row end only by its own lock timeout. Errors:
 * https://db.apache.org/derby/docs/10.16/ref/rrefexcept71493.html.
 */
public final class DerbyLockDialect extends LockDialect {

    private static final String WAIT_TIMEOUT = "derby.locks.waitTimeout";

    private static final String NOW = "current_timestamp";

    /** Derby adds at most two billion units at once, and its smallest unit is the nanosecond: so seconds and the rest are added apart. */
    private static final String NOW_PLUS_MICROS =
            "{fn timestampadd(SQL_TSI_FRAC_SECOND,cast(mod(cast(?1 as bigint),1000000)*1000 as int),"
                    + "{fn timestampadd(SQL_TSI_SECOND,cast(cast(?1 as bigint)/1000000 as int)," + NOW + ")})}";

    private static final String EPOCH_MICROS =
            "(cast({fn timestampdiff(SQL_TSI_SECOND,timestamp('1970-01-01 00:00:00')," + NOW + ")} as bigint)*1000000"
                    + "+mod(cast(second(" + NOW + ")*1000000 as bigint),1000000))";

    /** Derby's only clock is the begin of the statement, in the time zone of its JVM. */
    private static final SqlClock CLOCK =
            new SqlClock(NOW, NOW_PLUS_MICROS, NOW_PLUS_MICROS, EPOCH_MICROS, EPOCH_MICROS);

    /** Lock timeout; deadlock; read-only; table, column or schema missing; database shut down, or not found. */
    private static final Map<String, Failure> FAILURES = Map.of(
            "40XL1", Failure.BUSY,
            "40XL2", Failure.BUSY,
            "40001", Failure.DEADLOCK,
            "25502", Failure.READ_ONLY,
            "25503", Failure.READ_ONLY,
            "42X05", Failure.TABLE_MISSING,
            "42X04", Failure.TABLE_MISSING,
            "42Y07", Failure.TABLE_MISSING,
            "XJ015", Failure.UNAVAILABLE,
            "XJ004", Failure.UNAVAILABLE);

    /** Called by the class loader of services. */
    public DerbyLockDialect() {}

    @Override
    public String label() {
        return "Apache Derby";
    }

    @Override
    public boolean isOf(Dialect dialect) {
        return dialect instanceof RowLockingDerbyDialect;
    }

    @Override
    public boolean isOf(DatabaseMetaData metaData) throws SQLException {
        return metaData.getDatabaseProductName().equals("Apache Derby");
    }

    @Override
    public SqlClock clock() {
        return CLOCK;
    }

    @Override
    public String schemaScript() {
        return "db/derby-locks.sql";
    }

    /** At REPEATABLE READ, what was read stays locked. But rows that were not there may appear. */
    @Override
    public Snapshots snapshots() {
        return Snapshots.UNPREDICTABLE;
    }

    /** A query for several keys reads the whole table, and locks it. */
    @Override
    public RowGuard guard() {
        return RowGuard.LOCKS_EACH;
    }

    @Override
    public boolean isWaitCancellable() {
        return false;
    }

    /** A row that was read {@code for update} is only locked for reading once the statement has ended. */
    @Override
    public boolean hasRowLocks() {
        return false;
    }

    /** Derby compares texts as if the shorter one were filled up with spaces. */
    @Override
    public boolean ignoresTrailingSpaces() {
        return true;
    }

    /** Derby compares texts as Java does: by their UTF-16 code units. */
    @Override
    public Comparator<String> nameOrder() {
        return Comparator.naturalOrder();
    }

    @Override
    public Optional<Failure> failureOf(SQLException error) {
        return Optional.ofNullable(error.getSQLState()).map(FAILURES::get);
    }

    @Override
    public Optional<String> returnedColumn(String column) {
        return Optional.empty();
    }

    /** A commit that failed may have happened. Derby's codes do not tell. */
    @Override
    public boolean isCommitOpen(SQLException error) {
        return true;
    }

    @Override
    public void check(Connection connection) throws SQLException {
        if (connection.getMetaData().getURL().startsWith("jdbc:derby://")) {
            throw new IllegalStateException(
                    "This is Derby's network server, whose time zone cannot be read: leases might jump."
                            + " Use Derby inside the JVM");
        }
        checkZone();
        checkLockTimeout(connection);
    }

    private static void checkLockTimeout(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(
                        "values syscs_util.syscs_get_database_property('" + WAIT_TIMEOUT + "')")) {
            String ofDatabase = result.next() ? result.getString(1) : null;
            int seconds = Integer.parseInt(ofDatabase == null ? System.getProperty(WAIT_TIMEOUT, "60") : ofDatabase);
            if (seconds < 0 || seconds > 10) {
                throw new IllegalStateException("A statement would wait " + seconds
                        + " seconds for a row (-1: forever). Start the" + " JVM with -D" + WAIT_TIMEOUT + "=5");
            }
        }
    }

    private static void checkZone() {
        ZoneId zone = ZoneId.systemDefault();
        if (!zone.normalized().equals(ZoneOffset.UTC)) {
            throw new IllegalStateException(
                    "The JVM's time zone is " + zone + ", and Derby's clock is in that zone: leases"
                            + " would jump. Start the JVM with -Duser.timezone=UTC");
        }
    }
}
