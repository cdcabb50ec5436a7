package io.github.holdfast.faults;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import jakarta.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** Persistence units with the entities of the locks. */
final class Units {

    private Units() {}

    static EntityManagerFactory on(DataSource connections) {
        return new HibernatePersistenceConfiguration("faults")
                .managedClass(LockEntity.class)
                .managedClass(LockNode.class)
                .managedClass(LockAudit.class)
                .managedClass(LockRun.class)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, connections)
                .createEntityManagerFactory();
    }
}
