package io.github.holdfast.repository;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.pool.ProxyConnection;
import java.sql.Connection;
import java.sql.SQLException;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.ConnectionProxy;
import org.springframework.util.ClassUtils;

/** What HikariCP can do beyond JDBC. An application with another pool does not have it. */
final class HikariPools {

    private static final boolean IS_PRESENT =
            ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", HikariPools.class.getClassLoader());

    private HikariPools() {}

    /**
     * Evicts a connection from its pool. HikariCP does so by itself only after errors whose SQLState begins with {@code 08} and a few
     * others, none of H2's among them, and asks a connection whether it lives only if nobody has used it for 500 ms
     * (https://github.com/brettwooldridge/HikariCP/wiki/Rapid-Recovery).
     *
     * @param dataSource the pool, or what wraps it
     * @param connection of that pool, or what wraps it; closed afterwards
     * @return false if this is no such pool, or its connection is not found
     */
    static boolean evict(DataSource dataSource, Connection connection) throws SQLException {
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
     * As HikariCP does itself with a connection that it finds broken. Whoever uses it afterwards is told that it is closed; to
     * give it back with another autocommit mode than it came with would end in a {@link NullPointerException}.
     */
    private static void close(Connection evicted) throws SQLException {
        try {
            evicted.close();
        } catch (NullPointerException alreadyTakenFromPool) {
            // It is closed all the same.
        }
    }
}
