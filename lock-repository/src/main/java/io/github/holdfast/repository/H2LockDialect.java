package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLSyntaxErrorException;
import java.sql.Statement;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import org.hibernate.dialect.Dialect;
import org.hibernate.dialect.H2Dialect;

/** H2. Error codes: https://h2database.com/javadoc/org/h2/api/ErrorCode.html. Not for applications. */
public final class H2LockDialect extends LockDialect {

    private static final String STATEMENT_START = "cast((select EXECUTING_STATEMENT_START from"
            + " INFORMATION_SCHEMA.SESSIONS where SESSION_ID=session_id()) as timestamp(6) with time zone)";

    /**
     * H2's only moving clock is the start of the statement, and only this view shows it. Its {@code current_timestamp} stands
     * still for the whole transaction. A pause between reading and writing would then lead to two holders. See
     * https://h2database.com/html/functions.html#current_timestamp.
     */
    private static final SqlClock CLOCK = new SqlClock(
            STATEMENT_START,
            "dateadd(microsecond,?1," + STATEMENT_START + ")",
            "dateadd(microsecond,?1,current_timestamp(6))",
            "cast(extract(epoch from " + STATEMENT_START + ")*1000000 as bigint)",
            "cast(extract(epoch from " + STATEMENT_START + ")*1000000 as bigint)");

    /**
     * Any internal error. The relevant one occurs when another session ends while a statement reads H2's view of the
     * sessions, which contains our clock (https://github.com/h2database/h2database/issues/4352). A plain read may fail with it
     * too.
     */
    private static final int INTERNAL = 50000;

    private static final Map<Integer, Failure> FAILURES = Map.ofEntries(
            // lock timeout, statement cancelled
            Map.entry(50200, Failure.BUSY),
            Map.entry(57014, Failure.BUSY),
            Map.entry(40001, Failure.DEADLOCK),
            Map.entry(INTERNAL, Failure.CONFLICT),
            // connection broken, closed; database closed; an error of its file, perhaps in a commit, which closes it
            Map.entry(90067, Failure.UNAVAILABLE),
            Map.entry(90007, Failure.UNAVAILABLE),
            Map.entry(90098, Failure.UNAVAILABLE),
            Map.entry(90121, Failure.UNAVAILABLE),
            Map.entry(90028, Failure.UNAVAILABLE),
            Map.entry(90031, Failure.UNAVAILABLE),
            // the database is read-only
            Map.entry(90097, Failure.READ_ONLY),
            // out of memory
            Map.entry(90108, Failure.INSUFFICIENT_RESOURCES));

    @Override
    public String label() {
        return "H2";
    }

    @Override
    public boolean isOf(Dialect dialect) {
        return dialect instanceof H2Dialect;
    }

    @Override
    public boolean isOf(DatabaseMetaData metaData) throws SQLException {
        return metaData.getDatabaseProductName().equals("H2");
    }

    @Override
    public SqlClock clock() {
        return CLOCK;
    }

    /**
     * In a transaction of one statement, the statement's start equals the cheaper {@code current_timestamp}. The cost of the
     * statement's start grows with the number of sessions.
     */
    @Override
    public String inAutocommit(String sql) {
        return sql.replace(STATEMENT_START, "current_timestamp(6)");
    }

    @Override
    public String schemaScript() {
        return "db/holdfast/h2.sql";
    }

    /** Refuses a database whose clock cannot be read. */
    @Override
    public void check(Connection connection) throws SQLException {
        boolean hasClock;
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("select " + STATEMENT_START)) {
            hasClock = result.next() && result.getObject(1) != null;
        } catch (SQLSyntaxErrorException old) {
            hasClock = false;
        }
        if (!hasClock) {
            throw new IllegalStateException("Holdfast cannot read the clock of H2 with OLD_INFORMATION_SCHEMA or"
                    + " LAZY_QUERY_EXECUTION: remove them from the URL");
        }
    }

    /** Each table has a snapshot of its own. */
    @Override
    public Snapshots snapshots() {
        return Snapshots.UNPREDICTABLE;
    }

    /** H2 cancels a statement only after its wait for a row, and a query timeout would cost a statement. */
    @Override
    public boolean isWaitCancellable() {
        return false;
    }

    /** H2 compares texts as Java does: by their UTF-16 code units. */
    @Override
    public Comparator<String> nameOrder() {
        return Comparator.naturalOrder();
    }

    @Override
    public Optional<Failure> failureOf(SQLException error) {
        return Optional.ofNullable(FAILURES.get(error.getErrorCode()));
    }

    @Override
    public boolean isCommitOpen(SQLException error) {
        return isInternal(error);
    }

    @Override
    public boolean isInternal(SQLException error) {
        return error.getErrorCode() == INTERNAL;
    }

    /** Not enough rights; administrator rights are required. */
    @Override
    boolean isMissingRight(SQLException error) {
        return error.getErrorCode() == 90096 || error.getErrorCode() == 90040;
    }

    /** Schema not found. */
    @Override
    boolean isSchemaMissing(SQLException error) {
        return error.getErrorCode() == 90079;
    }

    /**
     * With a database file, H2's rollback may undo another session's later commit. It restores the locked row twice if a write to the
     * file replaces the root of the undo log in between ({@code RollbackDecisionMaker} 2.4.240). A commit releases the same locks and
     * restores nothing, because this transaction wrote nothing.
     */
    @Override
    public boolean commitsRowLocks() {
        return true;
    }
}
