package io.github.holdfast.repository;

import io.github.holdfast.repository.DatabaseSetupException.Problem;
import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.transaction.TransactionTimedOutException;

/**
 * Classifies database errors by SQLState and vendor code of the {@link SQLException} in the cause chain. The exception types of
 * Hibernate and Spring are not enough, because both leave some of these codes untranslated.
 * What the standard leaves to the databases, their {@link LockDialect} says.
 *
 * <p>Not for applications.
 */
public final class SqlErrors {

    /** Duplicate key, because another transaction created the row; serialization failure. */
    private static final Set<String> CONFLICT_STATES = Set.of("40001", "23505");

    /** A write in a read-only transaction, on a standby, or in a session that is read-only by default. */
    private static final String READ_ONLY_STATE = "25006";

    /** Disk or memory full, a limit reached. */
    private static final String INSUFFICIENT_RESOURCES_CLASS = "53";

    /** Undefined table, undefined column. */
    private static final Set<String> TABLE_MISSING_STATES = Set.of("42S02", "42S03", "42S04", "42S22");

    private static final Logger LOG = LoggerFactory.getLogger(SqlErrors.class);

    private final LockDialect dialect;

    private SqlErrors(LockDialect dialect) {
        this.dialect = dialect;
    }

    /** Returns the classification of a database's errors. */
    public static SqlErrors of(LockDialect dialect) {
        return new SqlErrors(dialect);
    }

    /** Whether the error comes from the database, or from the transaction's timeout, and not from our own code. */
    public static boolean isFromDatabase(Throwable thrown) {
        return thrown instanceof TransactionTimedOutException
                || sqlException(thrown).isPresent();
    }

    /** Classifies an error of a statement. The statement was not executed, or its transaction will not be committed. */
    public Failure ofStatement(Throwable thrown) {
        if (thrown instanceof TransactionTimedOutException) {
            return Failure.BUSY;
        }
        return sqlException(thrown).map(this::classify).orElse(Failure.REFUSED);
    }

    /** Whether it is an internal error of the database, so that the same statement will succeed at once. */
    public boolean isInternal(StoreException thrown) {
        return thrown.failure() == Failure.CONFLICT
                && sqlException(thrown).filter(this::isInternal).isPresent();
    }

    /** Does the same as {@link #isInternal(StoreException)}, for the error of the driver. */
    boolean isInternal(SQLException error) {
        return answer(() -> dialect.isInternal(error), false);
    }

    /** Classifies an error at the begin of a transaction. There was no connection. */
    public static Failure ofBegin(Throwable thrown) {
        return sqlException(thrown).filter(SqlErrors::isExhausted).isPresent()
                ? Failure.EXHAUSTED
                : Failure.UNAVAILABLE;
    }

    /** Whether the database refused the user or the password: SQLState class 28, which also has MySQL's and H2's errors. */
    static boolean isOfCredentials(Throwable thrown) {
        return anySqlException(
                thrown,
                error -> error.getSQLState() != null && error.getSQLState().startsWith("28"));
    }

    /** Whether the user lacks a right for the statement. */
    public boolean isMissingRight(Throwable thrown) {
        return anySqlException(thrown, error -> answer(() -> dialect.isMissingRight(error), false));
    }

    /** Whether the schema that the statement names does not exist. */
    boolean isSchemaMissing(Throwable thrown) {
        return anySqlException(thrown, error -> answer(() -> dialect.isSchemaMissing(error), false));
    }

    /** Whether the database's character set lacks a character of the statement. */
    public boolean isCharacterMissing(Throwable thrown) {
        return anySqlException(thrown, error -> answer(() -> dialect.isCharacterMissing(error), false));
    }

    /** Returns why a connection cannot write, after an error that says that it cannot. */
    public Problem readOnly(Connection connection) {
        try {
            return dialect.isReplica(connection) ? Problem.REPLICA : Problem.READ_ONLY;
        } catch (SQLException unknown) {
            return Problem.READ_ONLY;
        }
    }

    /** Returns the database's own words about a failure: those of the error that was thrown first. */
    public static String words(Throwable thrown) {
        String words = NestedExceptionUtils.getMostSpecificCause(thrown).getMessage();
        String found = words == null || words.isBlank() ? String.valueOf(thrown.getMessage()) : words;
        // H2 adds the whole statement.
        return found.replaceAll("(?s); SQL statement:.*", "").strip();
    }

    /**
     * Classifies an error of a commit. Only a conflict proves that the server rolled back. Any other error leaves the outcome in
     * doubt.
     */
    public Failure ofCommit(Throwable thrown) {
        boolean mayHaveCommitted =
                sqlException(thrown).filter(this::isCommitOpen).isPresent();
        return ofStatement(thrown).isConflict() && !mayHaveCommitted ? Failure.CONFLICT : Failure.UNKNOWN;
    }

    /**
     * Classifies an error of a statement that commits by itself. Only the server's own answer proves that the statement had no
     * effect.
     */
    public Failure ofAutocommit(Throwable thrown) {
        boolean isAnswer = sqlException(thrown)
                .filter(error -> !hasNoCode(error) && !isCommitOpen(error))
                .isPresent();
        Failure failure = ofStatement(thrown);
        return isAnswer && !failure.isOfConnection() ? failure : Failure.UNKNOWN;
    }

    /** Whether a statement names a column that its table does not have, by the SQLState of PostgreSQL. */
    public static boolean isColumnMissing(SQLException error) {
        return "42703".equals(error.getSQLState());
    }

    /**
     * Whether the driver reports that it has cancelled the statement. MySQL's driver reports that for every statement that ends
     * after its timeout, even a successful one.
     */
    public static boolean isCancelledByDriver(SQLException error) {
        return error instanceof SQLTimeoutException && hasNoCode(error);
    }

    /** Whether a commit may have happened. A dialect that fails proves nothing, so the answer is then yes. */
    private boolean isCommitOpen(SQLException error) {
        return answer(() -> dialect.isCommitOpen(error), true);
    }

    /** Asks the dialect. One that fails must not hide the error that it was asked about. */
    private <T> T answer(Supplier<T> question, T ifItFails) {
        try {
            return Objects.requireNonNull(question.get(), "the dialect's answer");
        } catch (RuntimeException faulty) {
            LOG.warn("The dialect of {} has failed to classify an error", dialect.label(), faulty);
            return ifItFails;
        }
    }

    private static boolean anySqlException(Throwable thrown, Predicate<SQLException> condition) {
        return sqlExceptions(thrown).anyMatch(condition);
    }

    private static Optional<SQLException> sqlException(Throwable thrown) {
        return sqlExceptions(thrown).findFirst();
    }

    /** Returns the errors of the driver among the causes, the outermost first. */
    private static Stream<SQLException> sqlExceptions(Throwable thrown) {
        return Stream.iterate(thrown, Objects::nonNull, Throwable::getCause)
                .filter(SQLException.class::isInstance)
                .map(SQLException.class::cast);
    }

    private Failure classify(SQLException error) {
        // The database's own codes come first: MySQL reports a lock wait timeout with the SQLState of a serialization
        // failure.
        return answer(() -> dialect.failureOf(error), Optional.<Failure>empty())
                .filter(failure -> failure != Failure.UNKNOWN)
                .orElseGet(() -> ofStandard(error));
    }

    /** Classifies an error by the standard's SQLState, and by the classes of JDBC. */
    private static Failure ofStandard(SQLException error) {
        String state = error.getSQLState() == null ? "" : error.getSQLState();
        if (CONFLICT_STATES.contains(state)) {
            return Failure.CONFLICT;
        }
        if (isExhausted(error)) {
            return Failure.EXHAUSTED;
        }
        if (isConnectionFailure(error, state)) {
            return Failure.UNAVAILABLE;
        }
        if (state.equals(READ_ONLY_STATE)) {
            return Failure.READ_ONLY;
        }
        if (state.startsWith(INSUFFICIENT_RESOURCES_CLASS)) {
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
    public static boolean hasNoCode(SQLException error) {
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

    private static boolean isConnectionFailure(SQLException error, String state) {
        return state.startsWith("08")
                || error instanceof SQLNonTransientConnectionException
                || error instanceof SQLTransientConnectionException
                || error instanceof SQLRecoverableException
                || isOfThePool(error);
    }
}
