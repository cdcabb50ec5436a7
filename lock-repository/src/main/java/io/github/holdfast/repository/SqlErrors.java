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
 * What an error of the database means, by SQLState and vendor code of the {@link SQLException} in the cause chain.
 * Neither Hibernate's nor Spring's exception types tell it: both leave some of these codes untranslated.
 *
 * <p>Sources: https://www.postgresql.org/docs/current/errcodes-appendix.html,
 * https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
 * https://mariadb.com/kb/en/mariadb-error-code-reference/, https://h2database.com/javadoc/org/h2/api/ErrorCode.html.
 */
final class SqlErrors {

    /**
     * H2: any internal error; here one that its view of the sessions, in which our clock is, has when another session ends
     * (https://github.com/h2database/h2database/issues/4352), which a plain read may have too.
     */
    private static final int H2_INTERNAL = 50000;

    /** MySQL's Group Replication: the hook before the commit failed, because the member is leaving the group or has left it. */
    private static final int HOOK_FAILED = 3100;

    /**
     * With what a commit may end, and a statement that commits by itself, although it is or will be done: any error while MariaDB or
     * MySQL commits (1180); in MySQL's Group Replication the hook's error and the rollback that certification demands (3101), because
     * a member that leaves ends with them what waits for its certification, and that may have reached the others before
     * (https://dev.mysql.com/doc/refman/8.4/en/group-replication-primary-secondary-replication.html).
     */
    private static final Set<Integer> AMBIGUOUS_COMMIT_CODES = Set.of(1180, HOOK_FAILED, 3101, H2_INTERNAL);

    /** MySQL and MariaDB; H2, whose code is the SQLState that stands for any serialization failure elsewhere. */
    private static final Set<Integer> DEADLOCK_CODES = Set.of(1213, 40001);

    private static final String POSTGRESQL_DEADLOCK = "40P01";

    /** MySQL and MariaDB: duplicate key, changed since read (snapshot isolation), certification failure in a cluster. */
    private static final Set<Integer> CONFLICT_CODES = Set.of(1062, 1020, 1180, 3101, H2_INTERNAL);

    /** Serialization failure, duplicate key of a row that another transaction created. */
    private static final Set<String> CONFLICT_STATES = Set.of("40001", "23505");

    /**
     * MySQL and MariaDB: lock wait timeout (also MariaDB's NOWAIT), NOWAIT refused, statement interrupted or timed out
     * (1317, 3024, MariaDB 1969); H2: lock timeout, statement cancelled.
     */
    private static final Set<Integer> BUSY_CODES = Set.of(1205, 3572, 1317, 3024, 1969, 50200, 57014);

    /** Lock not available and query cancelled (PostgreSQL). */
    private static final Set<String> BUSY_STATES = Set.of("55P03", "57014");

    /**
     * MySQL: too many connections, shutdown, session killed, offline mode, ended because it was idle; the client's codes for a
     * connection that has gone, which ProxySQL sends as the server's (2006, 2013), and its own for a server that it does not reach
     * (9001); MariaDB: connection killed; H2: connection broken, closed, database closed.
     */
    private static final Set<Integer> UNAVAILABLE_CODES =
            Set.of(1040, 1053, 3169, 3032, 4031, 2006, 2013, 9001, 1927, 90067, 90007, 90098, 90121);

    /**
     * PostgreSQL: administrator ended the session, crash, starting up, database dropped, session or transaction ended because it was
     * idle or took too long, too many connections.
     */
    private static final Set<String> UNAVAILABLE_STATES =
            Set.of("57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04", "53300");

    /**
     * MySQL and MariaDB: {@code read_only} (1290), read-only transaction, as {@code transaction_read_only} begins it (1792), InnoDB in
     * read-only mode (1836), a member that has left its group.
     */
    private static final Set<Integer> READ_ONLY_CODES = Set.of(1290, 1792, 1836, HOOK_FAILED);

    /** The standard's read-only transaction: a standby of PostgreSQL, or {@code default_transaction_read_only}. */
    private static final String READ_ONLY_STATE = "25006";

    /** MySQL and MariaDB: disk, memory, resources of the system, table of locks or tablespace full; H2: out of memory. */
    private static final Set<Integer> INSUFFICIENT_RESOURCES_CODES = Set.of(1021, 1037, 1041, 1114, 1206, 90108);

    /** PostgreSQL: disk or memory full, a limit reached. */
    private static final String INSUFFICIENT_RESOURCES_CLASS = "53";

    /** Undefined table on PostgreSQL, MySQL and MariaDB, H2; undefined column on PostgreSQL, all others. */
    private static final Set<String> TABLE_MISSING_STATES =
            Set.of("42P01", "42S02", "42S03", "42S04", "42703", "42S22");

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

    /** Whether H2 stumbled over itself, so that the same statement will do at once. */
    static boolean isInternalToH2(StoreException thrown) {
        return thrown.failure() == Failure.CONFLICT
                && sqlException(thrown).filter(SqlErrors::isInternalToH2).isPresent();
    }

    /** Whether H2 stumbled over itself, so that the same statement will do at once. */
    static boolean isInternalToH2(SQLException error) {
        return error.getErrorCode() == H2_INTERNAL;
    }

    /** What the error means for a transaction that could not be begun: there was no connection. */
    static Failure ofBegin(Throwable thrown) {
        return sqlException(thrown).filter(SqlErrors::isExhausted).isPresent()
                ? Failure.EXHAUSTED
                : Failure.UNAVAILABLE;
    }

    /**
     * What the error means for a commit. Only a conflict is an answer of the server that it rolled back; anything else
     * leaves open what it did.
     */
    static Failure ofCommit(Throwable thrown) {
        boolean mayHaveCommitted = sqlException(thrown)
                .filter(error -> AMBIGUOUS_COMMIT_CODES.contains(error.getErrorCode()))
                .isPresent();
        return ofStatement(thrown).isConflict() && !mayHaveCommitted ? Failure.CONFLICT : Failure.UNKNOWN;
    }

    /**
     * What the error means for a statement that commits by itself. Only what the server says of the statement tells that it was not
     * done.
     */
    static Failure ofAutocommit(Throwable thrown) {
        boolean isAnswer = sqlException(thrown)
                .filter(error -> !hasNoCode(error) && !AMBIGUOUS_COMMIT_CODES.contains(error.getErrorCode()))
                .isPresent();
        Failure failure = ofStatement(thrown);
        return isAnswer && !failure.isOfConnection() ? failure : Failure.UNKNOWN;
    }

    /**
     * Whether the driver says that it has cancelled the statement. MySQL's says so for every statement that has ended after the time
     * was over, however it has ended.
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
        // MySQL Connector/J reports a statement that its query timeout cancelled with neither SQLState nor code.
        if (error instanceof SQLTimeoutException) {
            return Failure.BUSY;
        }
        return TABLE_MISSING_STATES.contains(state) ? Failure.TABLE_MISSING : Failure.REFUSED;
    }

    /** A server gives a SQLState or a code; a pool that took a broken connection back in the middle says only what it did. */
    private static boolean isOfThePool(SQLException error) {
        return error.getClass() == SQLException.class && hasNoCode(error);
    }

    /** Whether it comes from the driver or a pool, and tells nothing of what the server says. */
    static boolean hasNoCode(SQLException error) {
        return error.getSQLState() == null && error.getErrorCode() == 0;
    }

    /**
     * A pool that waited in vain for one of its connections: HikariCP, which gives as the cause why it could not open
     * another one, if that is it; Commons DBCP, whose other errors have the database's as their cause; Tomcat JDBC.
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
     * MySQL Connector/J sends no write to a host that it failed over to, unless {@code failOverReadOnly=false}
     * (https://dev.mysql.com/doc/connector-j/en/connector-j-config-failover.html). The state stands for any illegal argument.
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
