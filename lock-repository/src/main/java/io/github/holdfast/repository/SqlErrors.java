package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.Optional;
import java.util.Set;
import org.springframework.transaction.TransactionTimedOutException;

/**
 * What an error of the database means, by SQLState and vendor code of the {@link SQLException} in the cause chain.
 * Neither Hibernate's nor Spring's exception types tell it: both leave some of these codes untranslated.
 *
 * <p>Sources: https://www.postgresql.org/docs/current/errcodes-appendix.html,
 * https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
 * https://mariadb.com/kb/en/mariadb-error-code-reference/, https://h2database.com/javadoc/org/h2/api/ErrorCode.html.
 */
final class SqlErrors {

    /** MySQL and MariaDB: a failed certification in a cluster, but also any other error while it commits. */
    private static final int ERROR_DURING_COMMIT = 1180;

    /**
     * MySQL and MariaDB: deadlock, duplicate key, changed since read (snapshot isolation), certification failure in a
     * cluster.
     */
    private static final Set<Integer> CONFLICT_CODES = Set.of(1213, 1062, 1020, 1180, 3101);

    /** Serialization failure, deadlock (PostgreSQL), duplicate key of a row that another transaction created. */
    private static final Set<String> CONFLICT_STATES = Set.of("40001", "40P01", "23505");

    /**
     * MySQL and MariaDB: lock wait timeout (also MariaDB's NOWAIT), NOWAIT refused, statement interrupted or timed out
     * (1317, 3024, MariaDB 1969); H2: lock timeout, statement cancelled.
     */
    private static final Set<Integer> BUSY_CODES = Set.of(1205, 3572, 1317, 3024, 1969, 50200, 57014);

    /** Lock not available and query cancelled (PostgreSQL). */
    private static final Set<String> BUSY_STATES = Set.of("55P03", "57014");

    /** MySQL: too many connections, shutdown; MariaDB: connection killed; H2: connection broken, database closed. */
    private static final Set<Integer> UNAVAILABLE_CODES = Set.of(1040, 1053, 1927, 90067, 90098, 90121);

    /** PostgreSQL: administrator ended the session, crash, starting up, too many connections. */
    private static final Set<String> UNAVAILABLE_STATES = Set.of("57P01", "57P02", "57P03", "57P05", "53300");

    /** Undefined table on PostgreSQL, MySQL and MariaDB, H2. */
    private static final Set<String> TABLE_MISSING_STATES = Set.of("42P01", "42S02", "42S03", "42S04");

    private SqlErrors() {}

    /** Whether the error comes from the database, or from the time that it was given, and not from our own code. */
    static boolean isFromDatabase(Throwable thrown) {
        return thrown instanceof TransactionTimedOutException
                || sqlException(thrown).isPresent();
    }

    /** What the error means for a statement: it was not executed, or its transaction will not be committed. */
    static Failure ofStatement(Throwable thrown) {
        if (thrown instanceof TransactionTimedOutException) {
            return Failure.BUSY;
        }
        return sqlException(thrown).map(SqlErrors::classify).orElse(Failure.REFUSED);
    }

    /**
     * What the error means for a commit. Only a conflict is an answer of the server that it rolled back; anything else
     * leaves open what it did.
     */
    static Failure ofCommit(Throwable thrown) {
        boolean mayHaveCommitted = sqlException(thrown)
                .filter(error -> error.getErrorCode() == ERROR_DURING_COMMIT)
                .isPresent();
        return ofStatement(thrown) == Failure.CONFLICT && !mayHaveCommitted ? Failure.CONFLICT : Failure.UNKNOWN;
    }

    private static Optional<SQLException> sqlException(Throwable thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException found) {
                return Optional.of(found);
            }
        }
        return Optional.empty();
    }

    private static Failure classify(SQLException error) {
        int code = error.getErrorCode();
        String state = error.getSQLState() == null ? "" : error.getSQLState();
        // The codes come first: MySQL reports a lock wait timeout with the SQLState of a serialization failure.
        if (BUSY_CODES.contains(code) || BUSY_STATES.contains(state)) {
            return Failure.BUSY;
        }
        if (CONFLICT_CODES.contains(code) || CONFLICT_STATES.contains(state)) {
            return Failure.CONFLICT;
        }
        if (UNAVAILABLE_CODES.contains(code) || isConnectionFailure(error, state)) {
            return Failure.UNAVAILABLE;
        }
        // MySQL Connector/J reports a statement that its query timeout cancelled with neither SQLState nor code.
        if (error instanceof SQLTimeoutException) {
            return Failure.BUSY;
        }
        return TABLE_MISSING_STATES.contains(state) ? Failure.TABLE_MISSING : Failure.REFUSED;
    }

    private static boolean isConnectionFailure(SQLException error, String state) {
        return state.startsWith("08")
                || UNAVAILABLE_STATES.contains(state)
                || error instanceof SQLNonTransientConnectionException
                || error instanceof SQLTransientConnectionException
                || error instanceof SQLRecoverableException;
    }
}
