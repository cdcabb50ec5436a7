package example.derby;

import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.SqlClock;
import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Map;
import java.util.Optional;
import org.hibernate.community.dialect.DerbyDialect;
import org.hibernate.dialect.Dialect;

/**
 * Apache Derby. Its waits for a row end by its own lock timeout: set {@code derby.locks.waitTimeout} to a few seconds. Errors:
 * https://db.apache.org/derby/docs/10.16/ref/rrefexcept71493.html.
 */
public final class DerbyLockDialect extends LockDialect {

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

    /** Lock timeout; deadlock; table missing, column missing; database shut down, or not found. */
    private static final Map<String, Failure> FAILURES = Map.of(
            "40XL1", Failure.BUSY,
            "40XL2", Failure.BUSY,
            "40001", Failure.DEADLOCK,
            "42X05", Failure.TABLE_MISSING,
            "42X04", Failure.TABLE_MISSING,
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
        return dialect instanceof DerbyDialect;
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

    /** Derby has no snapshots: at REPEATABLE READ, what was read stays locked. */
    @Override
    public Snapshots snapshots() {
        return Snapshots.DETECTED;
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

    @Override
    public Optional<Failure> failureOf(SQLException error) {
        return Optional.ofNullable(error.getSQLState()).map(FAILURES::get);
    }

    @Override
    public Optional<String> returnedColumn(String column) {
        return Optional.empty();
    }

    @Override
    public void check(Connection connection) {
        ZoneId zone = ZoneId.systemDefault();
        if (!zone.getRules().getOffset(Instant.now()).equals(ZoneOffset.UTC)
                || zone.getRules().nextTransition(Instant.now()) != null) {
            throw new IllegalStateException(
                    "The JVM's time zone is " + zone + ", and Derby's clock is in that zone: leases"
                            + " would jump. Start the JVM with -Duser.timezone=UTC");
        }
    }
}
