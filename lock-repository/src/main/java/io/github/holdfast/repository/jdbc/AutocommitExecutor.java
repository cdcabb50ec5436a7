package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.HibernateSessions;
import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.SqlErrors;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.time.Duration;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.SessionBuilder;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.resource.jdbc.spi.StatementInspector;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Executes single statements, each in a transaction of its own. On a connection in autocommit mode, the statement is the whole
 * transaction. It costs one round trip; an explicit transaction costs two to four. Thread-safe.
 *
 * <p>The executor checks the autocommit mode of each connection; the check costs nothing. An application may have returned a
 * connection to the pool with autocommit switched off. Without the check, that connection would roll back a write that the caller
 * believes to be committed.
 */
public final class AutocommitExecutor implements StatementExecutor {

    private static final Logger LOG = LoggerFactory.getLogger(AutocommitExecutor.class);

    /** The state of H2, as of PostgreSQL (https://h2database.com/javadoc/org/h2/api/ErrorCode.html#DUPLICATE_KEY_1). */
    private static final String UNIQUE_VIOLATION = "23505";

    private final SessionFactoryImplementor factory;
    private final Opening opening;
    private final Closing closing;
    private final ConnectionEviction useless;
    private final StatementInspector inAutocommit;
    private final SqlErrors errors;

    private interface Opening {
        Connection open() throws SQLException;
    }

    private interface Closing {
        void close(Connection connection) throws SQLException;
    }

    private AutocommitExecutor(
            SessionFactoryImplementor factory, Opening opening, Closing closing, ConnectionEviction useless) {
        this.factory = factory;
        this.opening = opening;
        this.closing = closing;
        this.useless = useless;
        LockDialect dialect = KnownDialects.of(factory);
        errors = SqlErrors.of(dialect);
        UnaryOperator<String> inspector = inspector(factory);
        inAutocommit = sql -> dialect.inAutocommit(inspector.apply(sql));
    }

    /**
     * Returns the application's statement inspector, or the identity if there is none. An inspector may return null for SQL that
     * it leaves unchanged.
     */
    public static UnaryOperator<String> inspector(SessionFactoryImplementor factory) {
        StatementInspector applications = factory.getSessionFactoryOptions().getStatementInspector();
        return sql -> {
            String inspected = applications == null ? null : applications.inspect(sql);
            return inspected == null ? sql : inspected;
        };
    }

    /**
     * Returns the executor of lock operations.
     *
     * @param dataSource the source of the connections; null for the application's own
     */
    public static AutocommitExecutor of(SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        ConnectionEviction useless = ConnectionEviction.of(factory, dataSource);
        if (dataSource != null) {
            return new AutocommitExecutor(factory, dataSource::getConnection, Connection::close, useless);
        }
        ConnectionProvider provider = factory.getServiceRegistry().requireService(ConnectionProvider.class);
        return new AutocommitExecutor(factory, provider::getConnection, provider::closeConnection, useless);
    }

    /** One statement. */
    public interface Statement<T> {
        T on(Connection connection) throws SQLException;
    }

    /**
     * Returns an insert that does nothing if the row is present. H2 has no "on conflict". There, Hibernate executes a plain
     * insert, and this error means that the row exists.
     */
    public static Statement<Integer> unlessPresent(Statement<Integer> insert) {
        return connection -> {
            try {
                return insert.on(connection);
            } catch (SQLIntegrityConstraintViolationException failed) {
                if (UNIQUE_VIOLATION.equals(failed.getSQLState())) {
                    return 0;
                }
                throw failed;
            }
        };
    }

    /** Reads or writes. The kind decides what a failure of the statement means, and how the statement is committed. */
    interface Kind {

        /**
         * Interprets a failure of the statement, after it has ended.
         *
         * @param isInAutocommit whether the statement was a transaction of its own
         * @param errors what the database's errors mean
         */
        StoreException failed(SQLException failed, Connection connection, boolean isInAutocommit, SqlErrors errors);

        /** Commits the statement. Called only for a connection without autocommit. */
        void commit(Connection connection) throws SQLException;
    }

    /** A statement that only reads. */
    public static final Kind READ = new Kind() {
        @Override
        public StoreException failed(
                SQLException failed, Connection connection, boolean isInAutocommit, SqlErrors errors) {
            return StoreException.of(errors.ofStatement(failed), failed);
        }

        @Override
        public void commit(Connection connection) throws SQLException {
            connection.commit();
        }
    };

    /**
     * A statement that writes.
     *
     * @param isAsBefore checks that nothing was written; executed on the same connection if the driver has cancelled the
     *     statement
     * @param timeout limits the commit
     * @param atMost how long the commit may take
     */
    public record Write(Statement<Boolean> isAsBefore, StatementTimeout timeout, Duration atMost) implements Kind {

        @Override
        public StoreException failed(
                SQLException failed, Connection connection, boolean isInAutocommit, SqlErrors errors) {
            if (SqlErrors.isCancelledByDriver(failed) && confirm(isAsBefore, connection, failed)) {
                return StoreException.of(Failure.BUSY, failed);
            }
            Failure failure = isInAutocommit ? errors.ofAutocommit(failed) : errors.ofStatement(failed);
            return StoreException.of(failure, failed);
        }

        @Override
        public void commit(Connection connection) throws SQLException {
            StatementTimeout.Watch watch = timeout.beginCommit(() -> connection, atMost);
            try {
                connection.commit();
                watch.confirm();
            } finally {
                watch.end();
            }
        }
    }

    /** Executes a check. A check that fails proves nothing, so the result is then false. */
    private static boolean confirm(Statement<Boolean> look, Connection connection, SQLException failed) {
        try {
            return look.on(connection);
        } catch (SQLException | StoreException lookFailed) {
            failed.addSuppressed(lookFailed);
            return false;
        }
    }

    /** Opens a Hibernate session on the connection of a statement. */
    public Session session(Connection connection) throws SQLException {
        SessionBuilder session = HibernateSessions.on(factory, connection);
        return (connection.getAutoCommit() ? HibernateSessions.inspecting(session, inAutocommit) : session)
                .openSession();
    }

    /**
     * Executes a statement.
     *
     * @throws StoreException if the database failed; its {@link StoreException#failure} says what became of a write
     */
    @Override
    public <T> T execute(Statement<T> statement, Kind kind) {
        try (Use use = new Use()) {
            try {
                use.begin();
                T result = statement.on(use.connection);
                use.commit(kind);
                return result;
            } catch (SQLException thrown) {
                StoreException failed = kind.failed(thrown, use.connection, use.isInAutocommit, errors);
                use.undo(failed);
                throw failed;
            } catch (RuntimeException | Error thrown) {
                use.undo(thrown);
                throw thrown;
            }
        }
    }

    /**
     * The use of one connection by one statement. It clears the thread's read-only flag and isolation level in Spring until it is
     * closed, because both belong to the caller's transaction. Some data sources read them: they route read-only transactions to
     * a replica, or set the isolation level.
     */
    private final class Use implements AutoCloseable {

        private final boolean isCallersReadOnly = TransactionSynchronizationManager.isCurrentTransactionReadOnly();

        private final @Nullable Integer callersIsolation =
                TransactionSynchronizationManager.getCurrentTransactionIsolationLevel();

        private final Connection connection;
        private boolean isInAutocommit = true;

        Use() {
            setSpringsFlags(false, null);
            try {
                connection = opening.open();
            } catch (SQLException | RuntimeException thrown) {
                setSpringsFlags(isCallersReadOnly, callersIsolation);
                throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
            } catch (Error thrown) {
                setSpringsFlags(isCallersReadOnly, callersIsolation);
                throw thrown;
            }
        }

        private void setSpringsFlags(boolean isReadOnly, @Nullable Integer isolation) {
            if (isCallersReadOnly || callersIsolation != null) {
                TransactionSynchronizationManager.setCurrentTransactionReadOnly(isReadOnly);
                TransactionSynchronizationManager.setCurrentTransactionIsolationLevel(isolation);
            }
        }

        void begin() {
            try {
                isInAutocommit = connection.getAutoCommit();
            } catch (SQLException broken) {
                throw StoreException.of(Failure.UNAVAILABLE, broken);
            }
        }

        void commit(Kind kind) {
            if (isInAutocommit) {
                return;
            }
            try {
                kind.commit(connection);
            } catch (SQLException thrown) {
                throw StoreException.of(errors.ofCommit(thrown), thrown);
            }
        }

        /** Rolls a failed statement back, and evicts a useless connection from the pool. */
        void undo(Throwable thrown) {
            if (!isInAutocommit) {
                try {
                    connection.rollback();
                } catch (SQLException alsoFailed) {
                    thrown.addSuppressed(alsoFailed);
                }
            }
            if (thrown instanceof StoreException failed) {
                useless.throwOutAfter(failed, connection);
            }
        }

        /** Returns the connection to its pool. */
        @Override
        public void close() {
            try {
                closing.close(connection);
            } catch (SQLException | RuntimeException leaked) {
                LOG.warn("A connection could not be closed: {}", leaked.getMessage());
            } finally {
                setSpringsFlags(isCallersReadOnly, callersIsolation);
            }
        }
    }
}
