package io.github.holdfast.repository;

import jakarta.persistence.EntityManager;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import javax.sql.DataSource;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.resource.jdbc.spi.LogicalConnectionImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.orm.jpa.DefaultJpaDialect;
import org.springframework.orm.jpa.JpaDialect;
import org.springframework.transaction.TransactionDefinition;

/**
 * Throws connections out of their pool that are of no use for the next statement either: those that are gone, and those that lead
 * to a server that only reads. A pool would give the same one to whoever tries again. It knows some errors that tell that a
 * connection is gone, and none that tell that it only reads; and it asks no connection that was in use a moment ago. Thread-safe.
 */
final class UselessConnections {

    private static final Logger LOG = LoggerFactory.getLogger(UselessConnections.class);

    /**
     * At most so often, one that only reads is thrown out. As long as each new one only reads too, the pool does not open more of
     * them, and those who only want to read find connections.
     */
    private static final Duration SHORTEST_INTERVAL = Duration.ofMillis(50);

    private final @Nullable DataSource pool;
    /** By the local clock. Two at the same time may both throw one out. */
    private volatile long lastReadOnlyAt = System.nanoTime() - SHORTEST_INTERVAL.toNanos();

    private UselessConnections(@Nullable DataSource pool) {
        this.pool = pool;
    }

    /**
     * Of a pool.
     *
     * @param dataSource the pool; null for where the application has its connections from
     */
    static UselessConnections of(SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        if (dataSource != null) {
            return new UselessConnections(dataSource);
        }
        ConnectionProvider provider = factory.getServiceRegistry().requireService(ConnectionProvider.class);
        return new UselessConnections(
                provider.isUnwrappableAs(DataSource.class) ? provider.unwrap(DataSource.class) : null);
    }

    /**
     * Throws a connection out, if the error says that it is of no use. It is to be given back all the same.
     *
     * @param connection which is this caller's, from this pool
     */
    void throwOutAfter(Throwable thrown, Connection connection) {
        if (saysUseless(thrown)) {
            throwOut(connection, thrown);
        }
    }

    /** As {@link #throwOutAfter(Throwable, Connection)}, for the one of this session, if it has one by now. */
    void throwOutAfter(Throwable thrown, EntityManager session) {
        LogicalConnectionImplementor connection = session.unwrap(SharedSessionContractImplementor.class)
                .getJdbcCoordinator()
                .getLogicalConnection();
        if (connection.isPhysicallyConnected() && saysUseless(thrown)) {
            throwOut(connection.getPhysicalConnection(), thrown);
        }
    }

    private boolean saysUseless(Throwable thrown) {
        return switch (SqlErrors.ofStatement(thrown)) {
            case UNAVAILABLE -> true;
            case READ_ONLY -> takeTurn();
            default -> false;
        };
    }

    private boolean takeTurn() {
        long now = System.nanoTime();
        if (now - lastReadOnlyAt < SHORTEST_INTERVAL.toNanos()) {
            return false;
        }
        lastReadOnlyAt = now;
        return true;
    }

    /** A pool that looks whether its connections live finds one that was aborted dead. On H2 that does nothing. */
    private void throwOut(Connection useless, Throwable why) {
        LOG.debug("A connection is thrown out of its pool", why);
        try {
            if (pool == null || !HikariPools.evict(pool, useless)) {
                useless.abort(Runnable::run);
            }
        } catch (SQLException | RuntimeException failed) {
            LOG.debug("A connection could not be thrown out of its pool", failed);
        }
    }

    /** What begins the transactions of sessions on these connections: one may turn out to be gone by that. */
    JpaDialect dialect() {
        return new Dialect(this);
    }

    private static final class Dialect extends DefaultJpaDialect {

        private static final long serialVersionUID = 1L;

        private final transient UselessConnections useless;

        Dialect(UselessConnections useless) {
            this.useless = useless;
        }

        @Override
        public @Nullable Object beginTransaction(EntityManager entityManager, TransactionDefinition definition)
                throws SQLException {
            try {
                return super.beginTransaction(entityManager, definition);
            } catch (RuntimeException thrown) {
                useless.throwOutAfter(thrown, entityManager);
                throw thrown;
            }
        }
    }
}
