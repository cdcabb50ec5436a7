package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.hibernate.dialect.Dialect;

/**
 * What Holdfast must know of a database. PostgreSQL, MySQL, MariaDB and H2 have a dialect here. To add another database, extend this
 * class, and name the subclass in {@code META-INF/services/io.github.holdfast.repository.LockDialect} of a jar. The class loader of this class must see that jar. Holdfast's
 * own dialects go before those found there.
 *
 * <p>All other SQL is Hibernate's. Prove a dialect by the contract tests of the artifact {@code lock-contract}, on the real database.
 * Do not write one for a database in which several servers execute statements, each by its own clock, or in which a row that a
 * transaction has changed can be changed by another one before the first has ended: two owners could hold a lock there.
 *
 * <p>Subclasses are immutable and thread-safe, and have a public constructor without parameters. Their methods return non-null values,
 * and execute no statement unless they say so.
 */
public abstract class LockDialect {

    private static final Comparator<String> BY_BYTES =
            Comparator.comparing(name -> name.getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

    /** Creates a dialect. */
    protected LockDialect() {}

    /** Returns the database's name for messages. */
    public abstract String label();

    /** Whether a persistence unit with this dialect of Hibernate uses the database. */
    public abstract boolean isOf(Dialect dialect);

    /**
     * Whether a connection leads to the database, by the driver's description. {@link LockSchema} asks this. It has no persistence
     * unit.
     *
     * @throws SQLException if the driver fails
     */
    public abstract boolean isOf(DatabaseMetaData metaData) throws SQLException;

    /** Returns the SQL of the database's clock. */
    public abstract SqlClock clock();

    /**
     * Returns the SQL for a statement that is a transaction by itself. A clock that is cheaper, and shows the time of the statement
     * only in a transaction of one statement, may take the place of the exact one here.
     *
     * @param sql SQL that may contain texts of {@link #clock}
     * @return by default the same SQL
     */
    public String inAutocommit(String sql) {
        return sql;
    }

    /**
     * Returns the location of the SQL script that creates the tables: a path on the class path, without a leading slash. Its text has
     * the form of {@code db/holdfast/h2.sql} in {@code lock-changelog}. Names of locks must be stored and compared byte by byte.
     */
    public abstract String schemaScript();

    /** Returns what a transaction at REPEATABLE READ sees of later commits. */
    public abstract Snapshots snapshots();

    /** What a transaction at REPEATABLE READ sees of commits after its first statement. */
    public enum Snapshots {

        /**
         * It does not see them. A statement that locks or changes a row committed since then fails, or finds no row. So the check
         * before the commit detects that the transaction has overlooked something. A database without snapshots has this only if it
         * also protects the absence of rows that were not found.
         */
        DETECTED,

        /**
         * It does not see them from its first read without a row lock on, and nothing fails. Statements that lock or change rows use
         * the newest rows. Holdfast looks for itself, with one statement.
         */
        FROM_FIRST_READ,

        /** Some of them, or it differs from table to table. Holdfast then expects the worst. */
        UNPREDICTABLE
    }

    /**
     * Returns how a transaction prevents grants of locks until it has ended. By default by locks on up to 50 rows at once. If a query for
     * several keys may lock rows that it does not find, choose {@link RowGuard#LOCKS_EACH}.
     */
    public RowGuard guard() {
        return RowGuard.LOCKS_ALL;
    }

    /**
     * Whether {@link java.sql.Statement#setQueryTimeout} ends a statement that waits for a row. If not, the wait must end by a lock
     * timeout of the database, of a few seconds. Let {@link #check} refuse a longer one. Holdfast then sets no query timeout for grants,
     * extensions and releases, and passes Hibernate's hint {@code jakarta.persistence.lock.timeout} to {@code select … for update}. Other
     * statements still have a query timeout.
     *
     * @return true by default
     */
    public boolean isWaitCancellable() {
        return true;
    }

    /**
     * Whether Hibernate's {@code PESSIMISTIC_WRITE} excludes other transactions from a row until the transaction ends, and its timeout
     * of -2 skips locked rows. If not, requests of {@code rowLock()} are refused, a row for which a statement timed out counts as
     * locked by another transaction, and a batch of housekeeping may wait for a row and be left to the next run.
     *
     * @return true by default
     */
    public boolean hasRowLocks() {
        return true;
    }

    /**
     * Whether two texts are equal that differ only by spaces at their ends. A lock's name has none there.
     *
     * @return false by default
     */
    public boolean ignoresTrailingSpaces() {
        return false;
    }

    /**
     * Returns the order in which the database sorts the names of locks.
     *
     * @return by default that of their bytes in UTF-8
     */
    public Comparator<String> nameOrder() {
        return BY_BYTES;
    }

    /**
     * Says what an error of a statement means, where the SQLState's standard meaning does not say it. Errors of the driver and the pool
     * arrive here too: their SQLState may be null, and their code 0. Holdfast knows 08xxx (no
     * connection), 23505 and 40001 (conflict), 25006 (read-only), 42xxx for missing tables and columns, the subclasses of {@link
     * SQLException} for connections and timeouts, and the errors of common pools.
     *
     * @return never {@link Failure#UNKNOWN}; empty by default
     */
    public Optional<Failure> failureOf(SQLException error) {
        return Optional.empty();
    }

    /**
     * Whether a commit that failed with this error may have happened, or may still happen. That includes a statement that commits by
     * itself. Errors of connections count as open anyway. If you do not know, answer true: Holdfast then reads the row before it goes on.
     *
     * @param error an error that {@link #failureOf} or the standard calls a conflict, or any error of a statement in autocommit mode
     */
    public abstract boolean isCommitOpen(SQLException error);

    /**
     * Whether this is an internal error of the database that rolled back, so that the same statement will succeed at once.
     *
     * @return false by default
     */
    public boolean isInternal(SQLException error) {
        return false;
    }

    /**
     * Checks the server when a service starts.
     *
     * @param connection a connection of the application; remains open
     * @throws IllegalStateException if locks would not be safe there; the message says why, and what to do
     * @throws SQLException if the database failed
     */
    public void check(Connection connection) throws SQLException {}

    /**
     * Asks the server whether several servers may write the database at the same time, without seeing each other's row locks, with clocks
     * that are kept equal. Holdfast
     * then relies on conflicts between commits: {@link RowGuard#CHANGES_EACH} guards transactions, and waiters are not woken.
     *
     * @param connection a connection of the application; remains open
     * @return the name of such a cluster for messages, with an article if it needs one; empty by default
     * @throws SQLException if the database failed
     */
    public Optional<String> severalWriters(Connection connection) throws SQLException {
        return Optional.empty();
    }

    /**
     * Returns a column's name as the driver expects it in {@link Connection#prepareStatement(String, String[])}. An update then returns
     * the column's new value, and the first grant of a new name needs one statement less.
     *
     * @param column the name in SQL, without quotes
     * @return empty if the driver returns only values that the database generates; the same name by default
     */
    public Optional<String> returnedColumn(String column) {
        return Optional.of(column);
    }

    /**
     * Asks the server for settings, and for replication, that are a risk.
     *
     * @param connection a connection of the lock operations, without a transaction; remains open
     * @param tables the names of Holdfast's tables in SQL
     * @return the risks, each with what causes it
     * @throws SQLException if the database failed
     */
    public Map<DatabaseRisk, String> risks(Connection connection, List<String> tables) throws SQLException {
        return Map.of();
    }

    /** Returns an identifier that SQL has without quotes as the database's catalog has it. */
    String folded(String identifier) {
        return identifier.toUpperCase(Locale.ROOT);
    }

    /** Returns the collation that compares text byte by byte; empty if every column does. */
    Optional<String> exactCollation() {
        return Optional.empty();
    }

    /** Whether the user lacks a right for the statement. */
    boolean isMissingRight(SQLException error) {
        return "42501".equals(error.getSQLState());
    }

    /** Whether a statement failed because the schema that it names does not exist. */
    boolean isSchemaMissing(SQLException error) {
        return "3F000".equals(error.getSQLState());
    }

    /** Whether the database's character set lacks a character of a text. */
    boolean isCharacterMissing(SQLException error) {
        return false;
    }

    /**
     * Asks the server whether it only repeats what another one writes.
     *
     * @param connection a connection of the lock operations; remains open
     * @throws SQLException if the database failed
     */
    boolean isReplica(Connection connection) throws SQLException {
        return false;
    }

    /** Returns whether the answer to a query is true. */
    static boolean isTrue(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet answer = statement.executeQuery(query)) {
            return answer.next() && answer.getBoolean(1);
        }
    }

    /** How a release wakes waiters on other nodes. */
    public enum WakeUp {
        /** Waiters poll. */
        NONE,

        /** By {@code notify}, in PostgreSQL. */
        NOTIFICATIONS,

        /** By the end of a query that sleeps, in MySQL and MariaDB. */
        BELL
    }

    /** Returns how a release wakes waiters on other nodes; by default they poll. */
    public WakeUp wakeUp() {
        return WakeUp.NONE;
    }

    /** Whether a commit can be cancelled while it waits, as for a synchronous standby. */
    public boolean isCommitCancellable() {
        return false;
    }

    /** Whether a pooler that changes sessions between transactions would lose the statements that the driver prepares. */
    public boolean isPoolerChecked() {
        return false;
    }

    /** Whether the driver knows the current database of a connection without a statement. */
    public boolean knowsPlaces() {
        return false;
    }

    /**
     * Returns the system column with the number of the table that a row is in, unique in its database; empty if there is none. A
     * statement that compares it writes to that table or to none, whatever schema the connection is in.
     */
    public Optional<String> tableIdColumn() {
        return Optional.empty();
    }

    /** Whether an insert locks the rows, or the gaps between rows, that its subqueries read. */
    public boolean locksWhatAnInsertReads() {
        return false;
    }

    /** Whether a transaction that has only locked rows must end by a commit. */
    public boolean commitsRowLocks() {
        return false;
    }

    /** How many transactions should lock one row for reading at the same time. */
    public int mostGuardsOfRow() {
        return Integer.MAX_VALUE;
    }
}
