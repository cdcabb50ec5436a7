package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.PostgreSQLDialect;

/** PostgreSQL. Error codes: https://www.postgresql.org/docs/current/errcodes-appendix.html. */
final class PostgresqlLockDialect extends LockDialect {

    /** See https://www.postgresql.org/docs/current/functions-datetime.html#FUNCTIONS-DATETIME-CURRENT. */
    private static final SqlClock CLOCK = new SqlClock(
            "clock_timestamp()",
            "(clock_timestamp()+?1*interval '1 microsecond')",
            "(now()+?1*interval '1 microsecond')",
            "cast(extract(epoch from clock_timestamp())*1000000 as bigint)",
            "cast(extract(epoch from statement_timestamp())*1000000 as bigint)");

    /**
     * Lock not available, query cancelled; deadlock; session ended by an administrator, crash, start-up, database dropped, session or
     * transaction ended because it was idle or took too long, too many connections; undefined table, undefined column.
     */
    private static final Map<String, Failure> FAILURES = Map.ofEntries(
            Map.entry("55P03", Failure.BUSY),
            Map.entry("57014", Failure.BUSY),
            Map.entry("40P01", Failure.DEADLOCK),
            Map.entry("57P01", Failure.UNAVAILABLE),
            Map.entry("57P02", Failure.UNAVAILABLE),
            Map.entry("57P03", Failure.UNAVAILABLE),
            Map.entry("57P04", Failure.UNAVAILABLE),
            Map.entry("57P05", Failure.UNAVAILABLE),
            Map.entry("25P03", Failure.UNAVAILABLE),
            Map.entry("25P04", Failure.UNAVAILABLE),
            Map.entry("53300", Failure.UNAVAILABLE),
            Map.entry("42P01", Failure.TABLE_MISSING),
            Map.entry("42703", Failure.TABLE_MISSING));

    @Override
    public String label() {
        return "PostgreSQL";
    }

    @Override
    public boolean isOf(Dialect dialect) {
        return dialect instanceof PostgreSQLDialect;
    }

    @Override
    public boolean isOf(DatabaseMetaData metaData) throws SQLException {
        return metaData.getDatabaseProductName().equals("PostgreSQL");
    }

    @Override
    public SqlClock clock() {
        return CLOCK;
    }

    @Override
    public String schemaScript() {
        return "db/holdfast/postgresql.sql";
    }

    @Override
    public Snapshots snapshots() {
        return Snapshots.DETECTED;
    }

    @Override
    public Optional<Failure> failureOf(SQLException error) {
        return Optional.ofNullable(error.getSQLState()).map(FAILURES::get);
    }

    /** Each error of a commit that is a conflict was a rollback. */
    @Override
    public boolean isCommitOpen(SQLException error) {
        return false;
    }

    /** Refuses databases that only speak PostgreSQL's protocol, and sessions that would hide a warning. */
    @Override
    public void check(Connection connection) throws SQLException {
        MultiClockDatabase.refuse(connection, "select version()");
        if (isTrue(connection, "select current_setting('client_min_messages') = 'error'")) {
            throw new IllegalStateException(
                    "The sessions have client_min_messages=error, which hides the warning that a standby lacks a"
                            + " commit: set it to 'warning', in the URL or for the user or the database");
        }
    }

    @Override
    public Map<DatabaseRisk, String> risks(Connection connection, List<String> tables) throws SQLException {
        return PostgresRisks.of(connection, tables);
    }

    /**
     * PostgreSQL's driver quotes the name (https://jdbc.postgresql.org/documentation/use/, {@code quoteReturningIdentifiers}).
     */
    @Override
    public Optional<String> returnedColumn(String column) {
        return Optional.of(column.toLowerCase(Locale.ROOT));
    }

    /** See https://www.postgresql.org/docs/current/ddl-system-columns.html. */
    @Override
    public Optional<String> tableIdColumn() {
        return Optional.of("tableoid");
    }

    @Override
    String folded(String identifier) {
        return identifier.toLowerCase(Locale.ROOT);
    }

    @Override
    Optional<String> exactCollation() {
        return Optional.of("C");
    }

    /** A character that the encoding of the database lacks. */
    @Override
    boolean isCharacterMissing(SQLException error) {
        return "22P05".equals(error.getSQLState());
    }

    @Override
    boolean isReplica(Connection connection) throws SQLException {
        return isTrue(connection, "select pg_is_in_recovery()");
    }

    @Override
    public WakeUp wakeUp() {
        return WakeUp.NOTIFICATIONS;
    }

    @Override
    public boolean isCommitCancellable() {
        return true;
    }

    @Override
    public boolean isPoolerChecked() {
        return true;
    }

    /**
     * Each transaction that locks a row beside others makes a MultiXact with all of them as its members. Too many of either make
     * PostgreSQL vacuum all tables (https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-MULTIXACT-WRAPAROUND). ADR 31
     * has what four cost, compared with fewer and more.
     */
    @Override
    public int mostGuardsOfRow() {
        return 4;
    }
}
