package io.github.holdfast.repository;

import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.PersistenceException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.hibernate.ConnectionAcquisitionMode;
import org.hibernate.ConnectionReleaseMode;
import org.hibernate.Session;
import org.hibernate.SessionEventListener;
import org.hibernate.SessionFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The application's persistence unit under an identity of its own. Spring binds entity managers to the thread under the
 * factory that made them: under the application's own factory, an entity manager that open-in-view has bound without a
 * transaction would be taken for ours, and what is dirty in it would be flushed by our commit.
 *
 * <p>Its sessions may use other connections than the application's, to the same database.
 */
final class OwnUnit {

    private static final Logger LOG = LoggerFactory.getLogger(OwnUnit.class);

    private OwnUnit() {}

    /**
     * Returns the persistence unit.
     *
     * @param connections where its sessions have their connections from; null for where the application has them
     */
    static EntityManagerFactory of(SessionFactory factory, @Nullable DataSource connections) {
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
                OwnUnit.class.getClassLoader(), new Class<?>[] {EntityManagerFactory.class}, delegate);
    }

    /** It keeps its connection until it is closed: what a commit is told besides success would be forgotten before. */
    private static Session open(SessionFactory factory) {
        return factory.withOptions()
                .connectionHandling(ConnectionAcquisitionMode.AS_NEEDED, ConnectionReleaseMode.ON_CLOSE)
                .openSession();
    }

    /** Hibernate does not close a connection that it was given. */
    private static Session open(SessionFactory factory, DataSource connections) {
        Connection connection;
        try {
            connection = connections.getConnection();
        } catch (SQLException thrown) {
            throw new PersistenceException("The lock data source gives no connection", thrown);
        }
        try {
            return factory.withOptions()
                    .connection(connection)
                    .eventListeners(new ConnectionCloser(connection, connection.getAutoCommit()))
                    .openSession();
        } catch (SQLException | RuntimeException thrown) {
            PersistenceException failed = new PersistenceException("No session was opened", thrown);
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
                // Its pool throws a broken connection away, and whoever used it has been told already.
                LOG.debug("A connection of the lock data source broke before it was given back", broken);
            }
            try {
                connection.close();
            } catch (SQLException leaked) {
                LOG.warn("A connection of the lock data source could not be given back: {}", leaked.getMessage());
            }
        }

        /** Hibernate leaves it changed after a commit that failed; and to change it back alone would commit. */
        private void restoreAutoCommit() throws SQLException {
            if (!connection.isClosed() && connection.getAutoCommit() != autoCommit) {
                connection.rollback();
                connection.setAutoCommit(autoCommit);
            }
        }
    }
}
