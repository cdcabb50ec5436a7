package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.test.Database;
import java.util.concurrent.locks.Lock;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** Spring Integration's lock registry with its defaults. */
final class SpringIntegration implements Contestant {

    private final DefaultLockRepository repository;
    private final JdbcLockRegistry locks;

    SpringIntegration(HikariDataSource pool) {
        repository = new DefaultLockRepository(pool);
        repository.setTransactionManager(new JdbcTransactionManager(pool));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        locks = new JdbcLockRegistry(repository);
    }

    /** Creates the table as in Spring Integration's schema scripts. */
    static void createTable(Database database) {
        database.execute("create table INT_LOCK (LOCK_KEY char(36) not null, REGION varchar(100) not null,"
                + " CLIENT_ID char(36), CREATED_DATE timestamp(6) not null, EXPIRED_AFTER timestamp(6) not null,"
                + " constraint INT_LOCK_PK primary key (LOCK_KEY, REGION))");
    }

    @Override
    public Held acquire(String name) {
        Lock lock = locks.obtain(name);
        lock.lock();
        return lock::unlock;
    }

    @Override
    public void close() {
        repository.stop();
    }
}
