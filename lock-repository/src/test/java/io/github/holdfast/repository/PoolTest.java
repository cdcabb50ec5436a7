package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.FaultyDataSource;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.time.Duration;
import java.util.Map;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.DataSourceConnectionFactory;
import org.apache.commons.dbcp2.PoolableConnection;
import org.apache.commons.dbcp2.PoolableConnectionFactory;
import org.apache.commons.dbcp2.PoolingDataSource;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.tomcat.jdbc.pool.PoolProperties;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How the pools say that they have no connection left, and that they can open none: no two of them do it in the same way. */
@OnDatabase(TestDatabase.H2_MEMORY)
class PoolTest {

    private static final int WAIT_MILLIS = 300;

    /** A pool with one connection. */
    enum Pool {
        HIKARI {
            @Override
            DataSource over(DataSource database) {
                HikariConfig config = new HikariConfig();
                config.setDataSource(database);
                config.setMaximumPoolSize(1);
                config.setConnectionTimeout(WAIT_MILLIS);
                return new HikariDataSource(config);
            }
        },
        TOMCAT {
            @Override
            DataSource over(DataSource database) {
                PoolProperties properties = new PoolProperties();
                properties.setDataSource(database);
                properties.setMaxActive(1);
                properties.setInitialSize(1);
                properties.setMaxWait(WAIT_MILLIS);
                properties.setTestOnBorrow(true);
                properties.setValidationQuery("select 1");
                properties.setValidationInterval(0);
                return new org.apache.tomcat.jdbc.pool.DataSource(properties);
            }
        },
        DBCP {
            @Override
            DataSource over(DataSource database) {
                PoolableConnectionFactory connections =
                        new PoolableConnectionFactory(new DataSourceConnectionFactory(database), null);
                GenericObjectPool<PoolableConnection> pool = new GenericObjectPool<>(connections);
                connections.setPool(pool);
                pool.setMaxTotal(1);
                pool.setMaxWait(Duration.ofMillis(WAIT_MILLIS));
                pool.setTestOnBorrow(true);
                return new PoolingDataSource<>(pool);
            }
        };

        abstract DataSource over(DataSource database);
    }

    @ParameterizedTest
    @EnumSource
    void poolTellsThatAllConnectionsAreInUseFromADatabaseThatIsDown(Pool kind, Database database) throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        DataSource pool = kind.over(faulty);
        try (AutoCloseable closed = closing(pool);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of())) {
            LockStore store = LockStore.open(unit);
            try (Connection inUse = pool.getConnection()) {
                assertThat(failureOf(store)).isEqualTo(Failure.EXHAUSTED);
            }
            faulty.down();
            assertThat(failureOf(store)).isEqualTo(Failure.UNAVAILABLE);
            assertThat(failureOf(store)).isEqualTo(Failure.UNAVAILABLE);
            faulty.up();
        }
    }

    /** Tomcat's says nowhere that it can be closed. */
    private static AutoCloseable closing(DataSource pool) {
        return pool instanceof org.apache.tomcat.jdbc.pool.DataSource tomcat ? tomcat::close : (AutoCloseable) pool;
    }

    private static Failure failureOf(LockStore store) {
        return catchThrowableOfType(
                        StoreException.class,
                        () -> store.inTransaction(Duration.ofSeconds(10), locks -> locks.read("job")))
                .failure();
    }
}
