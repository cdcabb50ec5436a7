package io.github.holdfast.faults;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** Persistence units with the entities of the locks. */
final class Units {

    private Units() {}

    static EntityManagerFactory on(DataSource connections) {
        return new HibernatePersistenceConfiguration("faults")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, connections)
                .createEntityManagerFactory();
    }
}
