package io.github.holdfast.repository;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.hibernate.engine.jdbc.connections.spi.ConnectionProvider;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

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
    private final AtomicLong lastReadOnly = new AtomicLong(System.nanoTime() - SHORTEST_INTERVAL.toNanos());

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
    void throwOutAfter(Throwable thrown, Supplier<Connection> connection) {
        boolean isUseless = switch (SqlErrors.ofStatement(thrown)) {
            case UNAVAILABLE -> true;
            case READ_ONLY -> takeTurn();
            default -> false;
        };
        if (isUseless) {
            LOG.debug("A connection is thrown out of its pool", thrown);
            throwOut(connection);
        }
    }

    private boolean takeTurn() {
        long now = System.nanoTime();
        long last = lastReadOnly.get();
        return now - last >= SHORTEST_INTERVAL.toNanos() && lastReadOnly.compareAndSet(last, now);
    }

    /** A pool that looks whether its connections live finds one that was aborted dead. On H2 that does nothing. */
    private void throwOut(Supplier<Connection> connection) {
        try {
            Connection useless = connection.get();
            if (pool == null || !HikariPools.evict(pool, useless)) {
                useless.abort(Runnable::run);
            }
        } catch (SQLException | RuntimeException failed) {
            LOG.debug("A connection could not be thrown out of its pool", failed);
        }
    }
}
