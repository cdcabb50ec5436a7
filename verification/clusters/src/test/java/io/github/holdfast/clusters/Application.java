package io.github.holdfast.clusters;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import jakarta.persistence.EntityManagerFactory;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** What a process of an application has: a pool, a persistence unit and a lock service. */
final class Application implements AutoCloseable {

    private final HikariDataSource pool;
    private final EntityManagerFactory unit;
    private final LockService locks;

    private Application(HikariConfig config, UnaryOperator<LockServiceBuilder> settings) {
        pool = new HikariDataSource(config);
        LockSchema.on(pool).createIfMissing();
        unit = new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                .createEntityManagerFactory();
        locks = settings.apply(LockService.builder(unit)).build();
    }

    static Application on(String url, UnaryOperator<LockServiceBuilder> settings) {
        return on(url, pool -> {}, settings);
    }

    static Application on(String url, Consumer<HikariConfig> pool, UnaryOperator<LockServiceBuilder> settings) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        // Statements that wait for a standby keep their connections.
        config.setMaximumPoolSize(20);
        config.setMinimumIdle(2);
        config.setConnectionTimeout(3000);
        config.setValidationTimeout(1000);
        pool.accept(config);
        return new Application(config, settings);
    }

    LockService locks() {
        return locks;
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
        pool.close();
    }
}
