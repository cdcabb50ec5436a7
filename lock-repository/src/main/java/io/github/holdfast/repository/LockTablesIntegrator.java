package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.util.function.Consumer;
import org.hibernate.boot.Metadata;
import org.hibernate.boot.spi.BootstrapContext;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.hibernate.integrator.spi.Integrator;
import org.hibernate.mapping.Column;
import org.hibernate.mapping.PersistentClass;
import org.hibernate.service.spi.SessionFactoryServiceRegistry;
import org.hibernate.type.BasicType;

/**
 * Prepares the tables of the locks before Hibernate creates or validates them. Hibernate calls it for each persistence unit. It gives
 * their text the collation that compares names byte by byte, for tables that Hibernate creates, and calls {@link LockTables#LISTENER}.
 */
public final class LockTablesIntegrator implements Integrator {

    /** Called by Hibernate, which finds this class through {@code META-INF/services}. */
    public LockTablesIntegrator() {}

    @Override
    public void integrate(Metadata metadata, BootstrapContext context, SessionFactoryImplementor factory) {
        boolean hasLocks =
                LockEntity.ENTITIES.stream().allMatch(entity -> metadata.getEntityBinding(entity.getName()) != null);
        if (!hasLocks) {
            return;
        }
        // Another database is refused when a service is built: the application may have its locks elsewhere.
        KnownDialects.of(factory.getJdbcServices().getDialect()).ifPresent(dialect -> {
            dialect.exactCollation()
                    .ifPresent(collation -> LockEntity.ENTITIES.forEach(
                            entity -> collate(metadata.getEntityBinding(entity.getName()), collation)));
            if (factory.getProperties().get(LockTables.LISTENER) instanceof Consumer<?> listener) {
                call(listener, LockTables.of(metadata, factory));
            }
        });
    }

    /** Nothing is left to undo. Hibernate 6.6 has no default for this method. */
    @Override
    public void disintegrate(SessionFactoryImplementor factory, SessionFactoryServiceRegistry services) {}

    private static void collate(PersistentClass entity, String collation) {
        for (Column column : entity.getTable().getColumns()) {
            boolean isText = column.getValue().getType() instanceof BasicType<?> type
                    && type.getJdbcType().isString();
            if (isText && column.getCollation() == null) {
                column.setCollation(collation);
            }
        }
    }

    @SuppressWarnings("unchecked") // the property's documented type
    private static void call(Consumer<?> listener, LockTables tables) {
        ((Consumer<LockTables>) listener).accept(tables);
    }
}
