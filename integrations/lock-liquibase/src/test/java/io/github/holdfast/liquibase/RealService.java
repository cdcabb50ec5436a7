package io.github.holdfast.liquibase;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.List;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** A lock service of Holdfast on the same tables. */
final class RealService implements AutoCloseable {

    static final Duration NODE_LEASE = Duration.ofSeconds(10);

    private final EntityManagerFactory unit;
    private final LockService locks;

    private RealService(EntityManagerFactory unit) {
        this.unit = unit;
        this.locks = LockService.builder(unit).nodeLease(NODE_LEASE).build();
    }

    static RealService on(Database database) {
        List<String> unused = LockSchema.on(database.dataSource()).createIfMissing();
        return new RealService(new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES.toArray(Class<?>[]::new))
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, database.pool(pool -> {}))
                .createEntityManagerFactory());
    }

    LockService locks() {
        return locks;
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
    }
}
