package io.github.holdfast.clusters;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A process of an application that writes under locks: a pool, a persistence unit with Spring's transactions, and a lock service that
 * guards them. The tables are there. What it writes is a journal: who holds the lock adds the next number, so that only the lock keeps two from adding the same.
 */
final class Shop implements AutoCloseable {

    private final HikariDataSource pool;
    private final EntityManagerFactory unit;
    private final JpaTransactionManager manager;
    private final LockService locks;

    private Shop(HikariConfig config, UnaryOperator<LockServiceBuilder> settings) {
        pool = new HikariDataSource(config);
        try {
            unit = new HibernatePersistenceConfiguration("locks")
                    .managedClasses(LockEntity.ENTITIES)
                    .properties(Map.of(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool))
                    .createEntityManagerFactory();
            manager = new JpaTransactionManager(unit);
            locks = settings.apply(LockService.builder(unit).transactionManager(manager))
                    .build();
        } catch (RuntimeException e) {
            pool.close();
            throw e;
        }
    }

    static Shop on(String url, UnaryOperator<LockServiceBuilder> settings) {
        return on(url, pool -> {}, settings);
    }

    static Shop on(String url, Consumer<HikariConfig> pool, UnaryOperator<LockServiceBuilder> settings) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(8);
        config.setMinimumIdle(2);
        config.setConnectionTimeout(3000);
        config.setValidationTimeout(1000);
        pool.accept(config);
        return new Shop(config, settings);
    }

    /** The table of the journal. */
    static String createJournal() {
        return "create table journal (token bigint primary key, seq bigint not null)";
    }

    /** The service cannot reach the database any more, as if its process had died. */
    void loseConnections() {
        pool.close();
    }

    LockService locks() {
        return locks;
    }

    EntityManagerFactory unit() {
        return unit;
    }

    JpaTransactionManager manager() {
        return manager;
    }

    /** Runs the work in a transaction that is checked before it commits. */
    void transaction(Runnable work) {
        new TransactionTemplate(manager).executeWithoutResult(status -> work.run());
    }

    /** Of the calling thread's transaction. */
    EntityManager entityManager() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    /** In the calling thread's transaction: the last number. */
    long last() {
        return ((Number) entityManager()
                        .createNativeQuery("select coalesce(max(seq), 0) from journal", Object.class)
                        .getSingleResult())
                .longValue();
    }

    /** In the calling thread's transaction: writes that this holder was given the number. */
    void add(LockHandle lock, long number) {
        entityManager()
                .createNativeQuery("insert into journal values (" + lock.fencingToken() + ", " + number + ")")
                .executeUpdate();
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
        pool.close();
    }
}
