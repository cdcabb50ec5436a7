package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.Set;
import org.springframework.transaction.TransactionTimedOutException;

/**
 * Classifies database errors by SQLState and vendor code of the {@link SQLException} in the cause chain. The exception types of
 * Hibernate and Spring are not enough, because both leave some of these codes untranslated.
 *
 * <p>Sources: https://www.postgresql.org/docs/current/errcodes-appendix.html,
 * https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
 * https://mariadb.com/kb/en/mariadb-error-code-reference/, https://h2database.com/javadoc/org/h2/api/ErrorCode.html.
 */
final class SqlErrors {

    /**
     * H2: any internal error. The relevant one occurs when another session ends while a statement reads H2's view of the
     * sessions, which contains our clock (https://github.com/h2database/h2database/issues/4352). A plain read may fail with it
     * too.
     */
    private static final int H2_INTERNAL = 50000;

    /** MySQL's Group Replication: the hook before the commit failed, because the member is leaving or has left the group. */
    private static final int HOOK_FAILED = 3100;

    /**
     * The codes that leave it open whether a commit happened or will happen. They also apply to a statement that commits by
     * itself. MariaDB and MySQL report any error during a commit as 1180. MySQL's Group Replication reports the hook's error and
     * the rollback that certification demands (3101). When a member leaves the group, it aborts transactions that wait for
     * certification with these two codes. The other members may already have received those transactions
     * (https://dev.mysql.com/doc/refman/8.4/en/group-replication-primary-secondary-replication.html).
     */
    private static final Set<Integer> AMBIGUOUS_COMMIT_CODES = Set.of(1180, HOOK_FAILED, 3101, H2_INTERNAL);

    /** MySQL and MariaDB (1213); H2 (40001). On other databases, 40001 is the SQLState of any serialization failure. */
    private static final Set<Integer> DEADLOCK_CODES = Set.of(1213, 40001);

    private static final String POSTGRESQL_DEADLOCK = "40P01";

    /** MySQL and MariaDB: duplicate key, changed since read (snapshot isolation), certification failure in a cluster. */
    private static final Set<Integer> CONFLICT_CODES = Set.of(1062, 1020, 1180, 3101, H2_INTERNAL);

    /** Serialization failure; duplicate key, because another transaction created the row. */
    private static final Set<String> CONFLICT_STATES = Set.of("40001", "23505");

    /**
     * MySQL and MariaDB: lock wait timeout (also MariaDB's NOWAIT), NOWAIT refused, statement interrupted or timed out
     * (1317, 3024, MariaDB 1969); H2: lock timeout, statement cancelled.
     */
    private static final Set<Integer> BUSY_CODES = Set.of(1205, 3572, 1317, 3024, 1969, 50200, 57014);

    /** Lock not available and query cancelled (PostgreSQL). */
    private static final Set<String> BUSY_STATES = Set.of("55P03", "57014");

    /**
     * MySQL: too many connections, shutdown, session killed, offline mode, idle session ended; the client's codes for a lost
     * connection, which ProxySQL sends as the server's (2006, 2013); ProxySQL's code for an unreachable server (9001); MariaDB:
     * connection killed; H2: connection broken, closed, database closed.
     */
    private static final Set<Integer> UNAVAILABLE_CODES =
            Set.of(1040, 1053, 3169, 3032, 4031, 2006, 2013, 9001, 1927, 90067, 90007, 90098, 90121);

    /**
     * PostgreSQL: session ended by an administrator, crash, start-up, database dropped, session or transaction ended because it
     * was idle or took too long, too many connections.
     */
    private static final Set<String> UNAVAILABLE_STATES =
            Set.of("57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", "53300");

    /**
     * MySQL and MariaDB: {@code read_only} (1290); read-only transaction, caused by {@code transaction_read_only} (1792); InnoDB
     * in read-only mode (1836); a member that has left its group.
     */
    private static final Set<Integer> READ_ONLY_CODES = Set.of(1290, 1792, 1836, HOOK_FAILED);

    /** The SQL state of a write in a read-only transaction: PostgreSQL's on a standby, or by {@code default_transaction_read_only}. */
    private static final String READ_ONLY_STATE = "25006";

    /** MySQL and MariaDB: out of disk space, memory, system resources, lock table entries or tablespace; H2: out of memory. */
    private static final Set<Integer> INSUFFICIENT_RESOURCES_CODES = Set.of(1021, 1037, 1041, 1114, 1206, 90108);

    /** PostgreSQL: disk or memory full, a limit reached. */
    private static final String INSUFFICIENT_RESOURCES_CLASS = "53";

    /** Undefined table on PostgreSQL, MySQL and MariaDB, H2; undefined column on PostgreSQL, all others. */
    private static final Set<String> TABLE_MISSING_STATES =
            Set.of("42P01", "42S02", "42S03", "42S04", "42703", "42S22");

    private SqlErrors() {}

    /** Whether the error comes from the database, or from the transaction's timeout, and not from our own code. */
    static boolean isFromDatabase(Throwable thrown) {
        return thrown instanceof TransactionTimedOutException
                || sqlException(thrown).isPresent();
    }

    /** Classifies an error of a statement. The statement was not executed, or its transaction will not be committed. */
    static Failure ofStatement(Throwable thrown) {
        if (thrown instanceof TransactionTimedOutException) {
            return Failure.BUSY;
        }
        return sqlException(thrown).map(SqlErrors::classify).orElse(Failure.REFUSED);
    }

    /** Whether it is an internal error of H2, so that the same statement will succeed at once. */
    static boolean isInternalToH2(StoreException thrown) {
        return thrown.failure() == Failure.CONFLICT
                && sqlException(thrown).filter(SqlErrors::isInternalToH2).isPresent();
    }

    /** Whether it is an internal error of H2, so that the same statement will succeed at once. */
    static boolean isInternalToH2(SQLException error) {
        return error.getErrorCode() == H2_INTERNAL;
    }

    /** Classifies an error at the begin of a transaction. There was no connection. */
    static Failure ofBegin(Throwable thrown) {
        return sqlException(thrown).filter(SqlErrors::isExhausted).isPresent()
                ? Failure.EXHAUSTED
                : Failure.UNAVAILABLE;
    }

    /**
     * Classifies an error of a commit. Only a conflict proves that the server rolled back. Any other error leaves the outcome in
     * doubt.
     */
    static Failure ofCommit(Throwable thrown) {
        boolean mayHaveCommitted = sqlException(thrown)
                .filter(error -> AMBIGUOUS_COMMIT_CODES.contains(error.getErrorCode()))
                .isPresent();
        return ofStatement(thrown).isConflict() && !mayHaveCommitted ? Failure.CONFLICT : Failure.UNKNOWN;
    }

    /**
     * Classifies an error of a statement that commits by itself. Only the server's own answer proves that the statement had no
     * effect.
     */
    static Failure ofAutocommit(Throwable thrown) {
        boolean isAnswer = sqlException(thrown)
                .filter(error -> !hasNoCode(error) && !AMBIGUOUS_COMMIT_CODES.contains(error.getErrorCode()))
                .isPresent();
        Failure failure = ofStatement(thrown);
        return isAnswer && !failure.isOfConnection() ? failure : Failure.UNKNOWN;
    }

    /**
     * Whether the driver reports that it has cancelled the statement. MySQL's driver reports that for every statement that ends
     * after its timeout, even a successful one.
     */
    static boolean isCancelledByDriver(SQLException error) {
        return error instanceof SQLTimeoutException && hasNoCode(error);
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
        if (DEADLOCK_CODES.contains(code) || state.equals(POSTGRESQL_DEADLOCK)) {
            return Failure.DEADLOCK;
        }
        if (CONFLICT_CODES.contains(code) || CONFLICT_STATES.contains(state)) {
            return Failure.CONFLICT;
        }
        if (isExhausted(error)) {
            return Failure.EXHAUSTED;
        }
        if (UNAVAILABLE_CODES.contains(code) || isConnectionFailure(error, state)) {
            return Failure.UNAVAILABLE;
        }
        if (READ_ONLY_CODES.contains(code) || state.equals(READ_ONLY_STATE) || isReadOnlyInDriver(error, state)) {
            return Failure.READ_ONLY;
        }
        if (INSUFFICIENT_RESOURCES_CODES.contains(code) || state.startsWith(INSUFFICIENT_RESOURCES_CLASS)) {
            return Failure.INSUFFICIENT_RESOURCES;
        }
        // If its query timeout cancels a statement, MySQL Connector/J reports neither SQLState nor code.
        if (error instanceof SQLTimeoutException) {
            return Failure.BUSY;
        }
        return TABLE_MISSING_STATES.contains(state) ? Failure.TABLE_MISSING : Failure.REFUSED;
    }

    /**
     * Whether the error comes from the pool. A server's error has a SQLState or a code. A pool that closed a broken connection
     * during a call gives neither.
     */
    private static boolean isOfThePool(SQLException error) {
        return error.getClass() == SQLException.class && hasNoCode(error);
    }

    /** Whether the error comes from the driver or a pool, without an answer of the server. */
    static boolean hasNoCode(SQLException error) {
        return error.getSQLState() == null && error.getErrorCode() == 0;
    }

    /**
     * Whether a pool had no free connection until its timeout. It recognises HikariCP, Commons DBCP and Tomcat JDBC. HikariCP's
     * error has a cause if a connection could not be opened. Other errors of Commons DBCP have the database's error as their
     * cause.
     */
    private static boolean isExhausted(SQLException error) {
        if (!hasNoCode(error)) {
            return false;
        }
        Throwable cause = error.getCause();
        return (error.getClass() == SQLTransientConnectionException.class && cause == null)
                || (cause instanceof NoSuchElementException && cause.getCause() == null)
                || error.getClass().getSimpleName().equals("PoolExhaustedException");
    }

    /**
     * Whether MySQL Connector/J refused a write after a failover. After a failover, it sends no writes to the new host unless
     * {@code failOverReadOnly=false} (https://dev.mysql.com/doc/connector-j/en/connector-j-config-failover.html). The SQLState
     * alone means any illegal argument.
     */
    private static boolean isReadOnlyInDriver(SQLException error, String state) {
        return state.equals("S1009")
                && error.getMessage() != null
                && error.getMessage().startsWith("Connection is read-only");
    }

    private static boolean isConnectionFailure(SQLException error, String state) {
        return state.startsWith("08")
                || UNAVAILABLE_STATES.contains(state)
                || error instanceof SQLNonTransientConnectionException
                || error instanceof SQLTransientConnectionException
                || error instanceof SQLRecoverableException
                || isOfThePool(error);
    }
}
