package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.SqlErrors;
import jakarta.persistence.EntityManager;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
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
 * Evicts broken connections, and connections to a read-only server, from their pool. Otherwise the next attempt would get the
 * same connection again. Pools recognise some errors of broken connections, and none of read-only ones. They do not test a
 * connection that was in use a moment ago. Thread-safe.
 */
public final class ConnectionEviction {

    private static final Logger LOG = LoggerFactory.getLogger(ConnectionEviction.class);

    /**
     * The shortest interval between two evictions of read-only connections. If every new connection is read-only too, it limits
     * how many the pool opens, and leaves connections for callers that only read.
     */
    private static final Duration SHORTEST_INTERVAL = Duration.ofMillis(50);

    private final SqlErrors errors;
    private final @Nullable DataSource pool;
    /** By the local clock. Two concurrent threads may each evict a connection. */
    private volatile long lastReadOnlyAt = System.nanoTime() - SHORTEST_INTERVAL.toNanos();

    private ConnectionEviction(SqlErrors errors, @Nullable DataSource pool) {
        this.errors = errors;
        this.pool = pool;
    }

    /**
     * Returns the instance for a pool.
     *
     * @param dataSource the pool; null for the application's own source of connections
     */
    public static ConnectionEviction of(SessionFactoryImplementor factory, @Nullable DataSource dataSource) {
        SqlErrors errors = SqlErrors.of(KnownDialects.of(factory));
        if (dataSource != null) {
            return new ConnectionEviction(errors, dataSource);
        }
        ConnectionProvider provider = factory.getServiceRegistry().requireService(ConnectionProvider.class);
        return new ConnectionEviction(
                errors, provider.isUnwrappableAs(DataSource.class) ? provider.unwrap(DataSource.class) : null);
    }

    /**
     * Evicts a connection if the error shows that it is useless. The caller still returns it to the pool.
     *
     * @param connection a connection of this pool, in use by the caller
     */
    void throwOutAfter(Throwable thrown, Connection connection) {
        if (saysUseless(thrown)) {
            throwOut(connection, thrown);
        }
    }

    /**
     * Does the same as {@link #throwOutAfter(Throwable, Connection)} for the connection of this session, if the session has one
     * by now.
     */
    public void throwOutAfter(Throwable thrown, EntityManager session) {
        LogicalConnectionImplementor connection = session.unwrap(SharedSessionContractImplementor.class)
                .getJdbcCoordinator()
                .getLogicalConnection();
        if (connection.isPhysicallyConnected() && saysUseless(thrown)) {
            throwOut(connection.getPhysicalConnection(), thrown);
        }
    }

    /** Whether the connections come from a pool of HikariCP that has at most fewer connections than this. */
    public boolean isPoolSmallerThan(int size) {
        try {
            return pool != null && HikariPools.isSmallerThan(size, pool);
        } catch (SQLException unknown) {
            LOG.debug("Could not read the size of the pool", unknown);
            return false;
        }
    }

    private boolean saysUseless(Throwable thrown) {
        return switch (errors.ofStatement(thrown)) {
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

    /**
     * Evicts a connection. Without HikariCP, or if a wrapper hides HikariCP's connection, it aborts the connection, so that the
     * pool's next test fails. HikariCP skips that test for half a second, but notices the error of the next call. On H2, {@code
     * abort} does nothing.
     */
    private void throwOut(Connection useless, Throwable why) {
        LOG.debug("Evicting a connection from its pool", why);
        try {
            if (!evict(useless)) {
                useless.abort(Runnable::run);
                try (Statement noticed = useless.createStatement()) {
                    noticed.execute("select 1");
                }
            }
        } catch (SQLException | RuntimeException failed) {
            LOG.debug("A connection could not be evicted from its pool", failed);
        }
    }

    private boolean evict(Connection useless) {
        try {
            return pool != null && HikariPools.evict(pool, useless);
        } catch (SQLException | RuntimeException hidden) {
            LOG.debug("HikariCP's connection is hidden by a wrapper", hidden);
            return false;
        }
    }

    /**
     * Returns the dialect for transactions on these connections. It also evicts a connection that proves useless when a
     * transaction begins.
     */
    JpaDialect dialect() {
        return new Dialect(this);
    }

    private static final class Dialect extends DefaultJpaDialect {

        private static final long serialVersionUID = 1L;

        private final transient ConnectionEviction useless;

        Dialect(ConnectionEviction useless) {
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
