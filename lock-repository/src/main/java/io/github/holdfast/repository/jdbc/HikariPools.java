package io.github.holdfast.repository.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.pool.ProxyConnection;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.ConnectionProxy;
import org.springframework.util.ClassUtils;

/** Uses HikariCP's features beyond JDBC. An application with another pool may lack HikariCP on its class path. */
public final class HikariPools {

    private static final boolean IS_PRESENT =
            ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", HikariPools.class.getClassLoader());

    private HikariPools() {}

    /**
     * The smallest pool of which one connection may listen for wake-ups. A caller's transaction and its lock operations need two
     * more.
     */
    public static final int LEAST_FOR_WAKE_UP = 3;

    /** Whether the data source is, or wraps, a HikariCP pool whose largest size is less than this. */
    public static boolean isSmallerThan(int size, DataSource dataSource) throws SQLException {
        return IS_PRESENT
                && dataSource.isWrapperFor(HikariDataSource.class)
                && dataSource.unwrap(HikariDataSource.class).getMaximumPoolSize() < size;
    }

    /**
     * Evicts a connection from its pool. HikariCP itself evicts only after errors with an SQLState of class {@code 08} and a few
     * others; H2's errors are not among them. It tests a connection only after 500 ms without use
     * (https://github.com/brettwooldridge/HikariCP/wiki/Rapid-Recovery).
     *
     * @param dataSource the pool, or a wrapper of it
     * @param connection a connection of that pool, or a wrapper of such a connection; closed afterwards
     * @return false if the pool is not HikariCP, or does not contain the connection
     */
    public static boolean evict(DataSource dataSource, Connection connection) throws SQLException {
        if (!IS_PRESENT || !dataSource.isWrapperFor(HikariDataSource.class)) {
            return false;
        }
        Connection target = connection;
        while (target instanceof ConnectionProxy wrapper) {
            target = wrapper.getTargetConnection();
        }
        if (!(target instanceof ProxyConnection)) {
            target = target.unwrap(ProxyConnection.class);
        }
        dataSource.unwrap(HikariDataSource.class).evictConnection(target);
        close(target);
        return true;
    }

    /**
     * Closes an evicted connection, as HikariCP closes a broken connection. Later calls on the connection fail because it is
     * closed. If it stayed open, returning it with a changed autocommit mode would throw a {@link NullPointerException}.
     */
    private static void close(Connection evicted) throws SQLException {
        try {
            evicted.close();
        } catch (NullPointerException alreadyTakenFromPool) {
            // The connection is closed despite this exception.
        }
    }
}
