package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.HibernateSessions;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.hibernate.SessionEventListener;
import org.hibernate.SessionFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's persistence unit under an identity of its own. Spring binds entity managers to the thread, with their factory
 * as the key. Open-in-view binds an entity manager without a transaction. With the application's factory as the key, Spring would
 * use that entity manager for lock operations, and their commit would flush the application's changes.
 *
 * <p>Its sessions may use separate connections to the same database.
 */
public final class IsolatedPersistenceUnit {

    private static final Logger LOG = LoggerFactory.getLogger(IsolatedPersistenceUnit.class);

    private IsolatedPersistenceUnit() {}

    /**
     * Returns the persistence unit.
     *
     * @param connections the source of its sessions' connections; null for the application's own
     */
    public static EntityManagerFactory of(SessionFactory factory, @Nullable DataSource connections) {
        InvocationHandler delegate = (proxy, method, arguments) -> {
            if (method.getDeclaringClass() == Object.class) {
                return switch (method.getName()) {
                    case "equals" -> proxy == arguments[0];
                    case "hashCode" -> System.identityHashCode(proxy);
                    default -> "Holdfast's view of " + factory;
                };
            }
            if (method.getName().equals("createEntityManager")) {
                return connections == null ? open(factory) : open(factory, connections);
            }
            try {
                return method.invoke(factory, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        };
        return (EntityManagerFactory) Proxy.newProxyInstance(
                IsolatedPersistenceUnit.class.getClassLoader(), new Class<?>[] {EntityManagerFactory.class}, delegate);
    }

    /**
     * Opens a session that keeps its connection until the session is closed. Otherwise the warnings of a commit would be lost.
     */
    private static Session open(SessionFactory factory) {
        return HibernateSessions.keepingConnection(HibernateSessions.of(factory))
                .openSession();
    }

    /**
     * Opens a session on a connection of this data source. The session closes the connection, because Hibernate closes only
     * connections that it has opened itself.
     */
    private static Session open(SessionFactory factory, DataSource connections) {
        Connection connection;
        try {
            connection = connections.getConnection();
        } catch (SQLException thrown) {
            throw new PersistenceException("The lock data source did not provide a connection", thrown);
        }
        try {
            return HibernateSessions.on(factory, connection)
                    .eventListeners(new ConnectionCloser(connection, connection.getAutoCommit()))
                    .openSession();
        } catch (SQLException | RuntimeException thrown) {
            PersistenceException failed = new PersistenceException("A session could not be opened", thrown);
            close(connection, failed);
            throw failed;
        }
    }

    private static void close(Connection connection, RuntimeException cause) {
        try {
            connection.close();
        } catch (SQLException alsoFailed) {
            cause.addSuppressed(alsoFailed);
        }
    }

    private static final class ConnectionCloser implements SessionEventListener {

        private static final long serialVersionUID = 1L;

        private final transient Connection connection;
        private final boolean autoCommit;

        ConnectionCloser(Connection connection, boolean autoCommit) {
            this.connection = connection;
            this.autoCommit = autoCommit;
        }

        @Override
        public void end() {
            try {
                restoreAutoCommit();
            } catch (SQLException broken) {
                // The pool discards a broken connection, and the user of the connection has already received the
                // error.
                LOG.debug("A connection of the lock data source broke before it was closed", broken);
            }
            try {
                connection.close();
            } catch (SQLException leaked) {
                LOG.warn("A connection of the lock data source could not be closed: {}", leaked.getMessage());
            }
        }

        /**
         * Restores the autocommit mode, which Hibernate leaves changed after a failed commit. Switching autocommit on commits the
         * open transaction, so a rollback comes first.
         */
        private void restoreAutoCommit() throws SQLException {
            if (!connection.isClosed() && connection.getAutoCommit() != autoCommit) {
                connection.rollback();
                connection.setAutoCommit(autoCommit);
            }
        }
    }
}
