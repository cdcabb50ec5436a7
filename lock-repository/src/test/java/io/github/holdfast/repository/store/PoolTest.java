package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.DataSourceConnectionFactory;
import org.apache.commons.dbcp2.PoolableConnection;
import org.apache.commons.dbcp2.PoolableConnectionFactory;
import org.apache.commons.dbcp2.PoolingDataSource;
import org.apache.commons.pool2.impl.GenericObjectPool;
import org.apache.tomcat.jdbc.pool.PoolProperties;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;

/** How the pools say that they have no connection left, and that they can open none: no two of them do it in the same way. */
@OnDatabase(TestDatabase.H2_MEMORY)
class PoolTest {

    private static final int WAIT_MILLIS = 300;

    /** Where a new connection is opened, which takes its time on a busy machine. */
    private static final int PATIENT_MILLIS = 60_000;

    /** A pool with one connection. */
    enum Pool {
        HIKARI {
            @Override
            DataSource over(DataSource database, int waitMillis) {
                HikariConfig config = new HikariConfig();
                config.setDataSource(database);
                config.setMaximumPoolSize(1);
                config.setConnectionTimeout(waitMillis);
                return new HikariDataSource(config);
            }
        },
        HIKARI_BEHIND_LAZY_CONNECTIONS {
            @Override
            DataSource over(DataSource database, int waitMillis) {
                return new LazyConnectionDataSourceProxy(HIKARI.over(database, waitMillis));
            }
        },
        HIKARI_BEHIND_ANOTHER_DATA_SOURCE {
            @Override
            DataSource over(DataSource database, int waitMillis) {
                return new DelegatingDataSource(HIKARI.over(database, waitMillis));
            }
        },
        TOMCAT {
            @Override
            DataSource over(DataSource database, int waitMillis) {
                PoolProperties properties = new PoolProperties();
                properties.setDataSource(database);
                properties.setMaxActive(1);
                properties.setInitialSize(1);
                properties.setMaxWait(waitMillis);
                properties.setTestOnBorrow(true);
                properties.setValidationQuery("select 1");
                properties.setValidationInterval(0);
                return new org.apache.tomcat.jdbc.pool.DataSource(properties);
            }
        },
        DBCP {
            @Override
            DataSource over(DataSource database, int waitMillis) {
                PoolableConnectionFactory connections =
                        new PoolableConnectionFactory(new DataSourceConnectionFactory(database), null);
                GenericObjectPool<PoolableConnection> pool = new GenericObjectPool<>(connections);
                connections.setPool(pool);
                pool.setMaxTotal(1);
                pool.setMaxWait(Duration.ofMillis(waitMillis));
                pool.setTestOnBorrow(true);
                return new PoolingDataSource<>(pool);
            }
        };

        abstract DataSource over(DataSource database, int waitMillis);
    }

    @ParameterizedTest
    @EnumSource
    void poolTellsThatAllConnectionsAreInUseFromADatabaseThatIsDown(Pool kind, Database database) throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();
        FaultyDataSource faulty = new FaultyDataSource(database.dataSource());
        DataSource pool = kind.over(faulty, WAIT_MILLIS);
        try (AutoCloseable closed = closing(pool);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of())) {
            LockStore store = LockStore.open(unit);
            try (Connection inUse = pool.getConnection();
                    Statement unused = inUse.createStatement()) {
                assertThat(failureOf(store)).isEqualTo(Failure.EXHAUSTED);
            }
            faulty.down();
            assertThat(failureOf(store)).isEqualTo(Failure.UNAVAILABLE);
            assertThat(failureOf(store)).isEqualTo(Failure.UNAVAILABLE);
            faulty.up();
        }
    }

    /** The pool has had it in use a moment ago, and trusts it. */
    @ParameterizedTest
    @EnumSource
    void poolGivesAConnectionThatOnlyReadsToNobodyAgain(Pool kind, Database database) throws Exception {
        LockSchema.on(database.dataSource()).createIfMissing();
        OldPrimary primary = new OldPrimary(database.dataSource());
        DataSource pool = kind.over(primary.dataSource(), PATIENT_MILLIS);
        try (AutoCloseable closed = closing(pool);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(pool, Map.of())) {
            LockStore store = LockStore.open(unit);
            store.inTransaction(Duration.ofSeconds(10), locks -> locks.createIfMissing("job"));
            LockEntity row = store.inTransaction(Duration.ofSeconds(10), locks -> locks.read("job"))
                    .orElseThrow()
                    .row();
            primary.becomesReadOnly();
            Callable<Boolean> inTransaction = () -> store.inTransaction(
                    Duration.ofSeconds(10), (TransactionalLockRows locks) -> locks.supersede("job", row.version()));
            assertThat(failureOf(inTransaction::call)).isEqualTo(Failure.READ_ONLY);
            assertThat(inTransaction.call()).isTrue();

            LockEntity next = store.inTransaction(Duration.ofSeconds(10), locks -> locks.read("job"))
                    .orElseThrow()
                    .row();
            LockRows autocommit = store.autocommit(Duration.ofSeconds(10));
            LockEntity granted = next.granted("me", null, null);
            primary.becomesReadOnly();
            assertThat(failureOf(() -> autocommit.grant(next, granted, Duration.ofSeconds(30), null)))
                    .isEqualTo(Failure.READ_ONLY);
            assertThat(autocommit.grant(next, granted, Duration.ofSeconds(30), null))
                    .isTrue();
        }
    }

    /** Tomcat's says nowhere that it can be closed. */
    private static AutoCloseable closing(DataSource pool) throws SQLException {
        if (pool.isWrapperFor(HikariDataSource.class)) {
            return pool.unwrap(HikariDataSource.class);
        }
        return pool instanceof org.apache.tomcat.jdbc.pool.DataSource tomcat ? tomcat::close : (AutoCloseable) pool;
    }

    private static Failure failureOf(LockStore store) {
        return failureOf(() -> store.inTransaction(Duration.ofSeconds(10), locks -> locks.read("job")));
    }

    private static Failure failureOf(ThrowingCallable work) {
        return catchThrowableOfType(StoreException.class, work).failure();
    }
}
