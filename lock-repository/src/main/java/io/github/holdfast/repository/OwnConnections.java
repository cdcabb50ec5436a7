package io.github.holdfast.repository;

import io.github.holdfast.repository.StoreException.Failure;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.function.Function;
import javax.sql.DataSource;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Runs single statements, each in a transaction of its own. On a connection in autocommit mode the statement is the transaction:
 * one round trip, where a transaction costs two to four. Thread-safe.
 *
 * <p>The mode is asked of each connection, which costs nothing: a pool that hands out one without autocommit, because somebody
 * left it so, would undo a write that was believed to be done.
 */
final class OwnConnections {

    private static final Logger LOG = LoggerFactory.getLogger(OwnConnections.class);

    private final Opening opening;
    private final Closing closing;
    private final UselessConnections useless;

    private interface Opening {
        Connection open() throws SQLException;
    }

    private interface Closing {
        void close(Connection connection) throws SQLException;
    }

    private interface Committing {
        void on(Connection connection) throws SQLException;
    }

    private OwnConnections(Opening opening, Closing closing, UselessConnections useless) {
        this.opening = opening;
        this.closing = closing;
        this.useless = useless;
    }

    /**
     * Returns the connections of lock operations.
     *
     * @param dataSource where they come from; null for where the application has its own
     */
    static OwnConnections of(SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        UselessConnections useless = UselessConnections.of(factory, dataSource);
        if (dataSource != null) {
            return new OwnConnections(dataSource::getConnection, Connection::close, useless);
        }
        ConnectionProvider provider = factory.getServiceRegistry().requireService(ConnectionProvider.class);
        return new OwnConnections(provider::getConnection, provider::closeConnection, useless);
    }

    /** One statement. */
    interface Statement<T> {
        T on(Connection connection) throws SQLException;
    }

    /**
     * Runs a statement that writes.
     *
     * @param isAsBefore whether what was to be written is as it was before, asked on the same connection when the driver has cancelled
     *     the statement, which has ended then
     * @param watch over the commit, on a connection that is not in autocommit mode
     * @param atMost how long that may take
     * @throws StoreException if the database failed; its {@link StoreException#failure} says what became of the write
     */
    <T> T write(Statement<T> statement, Statement<Boolean> isAsBefore, StatementWatch watch, Duration atMost) {
        return onPrimary(
                connection -> {
                    try {
                        return statement.on(connection);
                    } catch (SQLException failed) {
                        if (SqlErrors.isCancelledByDriver(failed) && isSo(isAsBefore, connection, failed)) {
                            throw StoreException.of(Failure.BUSY, failed);
                        }
                        throw failed;
                    }
                },
                SqlErrors::ofAutocommit,
                connection -> {
                    WatchedCommit commit = WatchedCommit.begin(() -> connection, watch, atMost);
                    try {
                        connection.commit();
                        commit.confirm();
                    } finally {
                        commit.end();
                    }
                });
    }

    /** A look that fails proves nothing. */
    private static boolean isSo(Statement<Boolean> look, Connection connection, SQLException failed) {
        try {
            return look.on(connection);
        } catch (SQLException | StoreException lookFailed) {
            failed.addSuppressed(lookFailed);
            return false;
        }
    }

    /**
     * Runs a statement that only reads.
     *
     * @throws StoreException if the database failed
     */
    <T> T read(Statement<T> statement) {
        return onPrimary(statement, SqlErrors::ofStatement, Connection::commit);
    }

    /**
     * A data source that leads read-only transactions to a replica, or sets their isolation level, asks Spring for the transaction of
     * this thread: the caller's.
     */
    private <T> T onPrimary(Statement<T> statement, Function<Throwable, Failure> inAutocommit, Committing committing) {
        boolean isReadOnly = TransactionSynchronizationManager.isCurrentTransactionReadOnly();
        Integer isolation = TransactionSynchronizationManager.getCurrentTransactionIsolationLevel();
        if (!isReadOnly && isolation == null) {
            return run(statement, inAutocommit, committing);
        }
        TransactionSynchronizationManager.setCurrentTransactionReadOnly(false);
        TransactionSynchronizationManager.setCurrentTransactionIsolationLevel(null);
        try {
            return run(statement, inAutocommit, committing);
        } finally {
            TransactionSynchronizationManager.setCurrentTransactionReadOnly(isReadOnly);
            TransactionSynchronizationManager.setCurrentTransactionIsolationLevel(isolation);
        }
    }

    private <T> T run(Statement<T> statement, Function<Throwable, Failure> inAutocommit, Committing committing) {
        Connection connection = get();
        try {
            return isInAutocommit(connection)
                    ? run(statement, connection, inAutocommit)
                    : committed(statement, connection, committing);
        } catch (StoreException failed) {
            useless.throwOutAfter(failed, connection);
            throw failed;
        } finally {
            giveBack(connection);
        }
    }

    private Connection get() {
        try {
            return opening.open();
        } catch (SQLException | RuntimeException thrown) {
            throw StoreException.of(SqlErrors.ofBegin(thrown), thrown);
        }
    }

    private static boolean isInAutocommit(Connection connection) {
        try {
            return connection.getAutoCommit();
        } catch (SQLException broken) {
            throw StoreException.of(Failure.UNAVAILABLE, broken);
        }
    }

    private static <T> T run(Statement<T> statement, Connection connection, Function<Throwable, Failure> whatItMeans) {
        try {
            return statement.on(connection);
        } catch (SQLException thrown) {
            throw StoreException.of(whatItMeans.apply(thrown), thrown);
        }
    }

    private static <T> T committed(Statement<T> statement, Connection connection, Committing committing) {
        T result;
        try {
            result = run(statement, connection, SqlErrors::ofStatement);
        } catch (RuntimeException | Error thrown) {
            rollBack(connection, thrown);
            throw thrown;
        }
        try {
            committing.on(connection);
        } catch (SQLException thrown) {
            rollBack(connection, thrown);
            throw StoreException.of(SqlErrors.ofCommit(thrown), thrown);
        }
        return result;
    }

    private static void rollBack(Connection connection, Throwable thrown) {
        try {
            connection.rollback();
        } catch (SQLException alsoFailed) {
            thrown.addSuppressed(alsoFailed);
        }
    }

    private void giveBack(Connection connection) {
        try {
            closing.close(connection);
        } catch (SQLException | RuntimeException leaked) {
            LOG.warn("A connection could not be given back: {}", leaked.getMessage());
        }
    }
}
