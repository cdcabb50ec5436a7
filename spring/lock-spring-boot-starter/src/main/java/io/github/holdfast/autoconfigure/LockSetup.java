package io.github.holdfast.autoconfigure;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.CommitGuard;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.UnsupportedDatabaseException;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;
import org.springframework.orm.jpa.EntityManagerFactoryInfo;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** Builds the service from the application's properties and beans. Its errors name the property or bean at fault. */
final class LockSetup {

    private static final Logger LOG = LoggerFactory.getLogger(LockSetup.class);

    static final String CREATE_TABLES = """
            Let the starter create the tables:

                holdfast.schema.management=sql

            (or =liquibase, which needs Liquibase on the class path), or create them yourself: include %s in your Liquibase \
            changelog, or run the file for your database in db/holdfast of the jar lock-changelog, with Flyway for \
            instance. If there are several data sources, the starter creates the tables in the primary one: to select \
            that of the locks' persistence unit, annotate it with @LockDataSource.""".formatted(LockSchema.CHANGELOG);

    private static final String ON_PRIMARY = """
            Give lock operations writable connections to the primary database:

                spring.datasource.hikari.read-only=false

            or, if the application writes only locks:

                holdfast.datasource.url=<JDBC URL of the primary>

            If the table differs from the bundled one, drop it, and set

                holdfast.schema.management=sql""";

    private static final String REACHABLE = """
            Check that the database is up, and that this is its URL:

                spring.datasource.url=<JDBC URL>

            Lock operations use separate connections if any holdfast.datasource.* is set, or a bean is annotated with \
            @LockDataSource.""";

    private static final String AS_SAID = """
            Change what the message names. If Hibernate created the lock tables, drop them, and set

                spring.jpa.hibernate.ddl-auto=validate
                holdfast.schema.management=sql

            To start without locks, set

                holdfast.enabled=false""";

    private final LockServiceBuilder builder;
    private final EntityManagerFactory unit;
    private @Nullable DataSource connections;

    LockSetup(EntityManagerFactory unit) {
        this.unit = unit;
        this.builder = LockService.builder(unit);
        this.connections = unit instanceof EntityManagerFactoryInfo info ? info.getDataSource() : null;
    }

    LockSetup properties(HoldfastProperties properties, Environment environment) {
        String application = properties.application();
        String springsName = environment.getProperty("spring.application.name", "");
        if (application != null) {
            set("holdfast.application", application, builder::application);
        } else if (!springsName.isBlank()) {
            set("spring.application.name", springsName, builder::application);
        }
        set("holdfast.node-lease", properties.nodeLease(), builder::nodeLease);
        set("holdfast.lock-delay", properties.lockDelay(), builder::lockDelay);
        set("holdfast.clock-tolerance", properties.clockTolerance(), builder::clockTolerance);
        set("holdfast.max-row-locks", properties.maxRowLocks(), builder::maxRowLocks);
        HoldfastProperties.Housekeeping housekeeping = properties.housekeeping();
        set("holdfast.housekeeping.retention", housekeeping.retention(), builder::retention);
        set("holdfast.housekeeping.period", housekeeping.period(), builder::housekeepingEvery);
        if (properties.leakDetection() != null) {
            set("holdfast.leak-detection", properties.leakDetection(), builder::leakDetection);
        }
        builder.accept(properties.accept().toArray(DatabaseRisk[]::new));
        if (properties.singleWriter()) {
            builder.singleWriter();
        }
        if (!properties.wakeUp()) {
            builder.withoutWakeUp();
        }
        if (!housekeeping.enabled()) {
            builder.withoutHousekeeping();
        }
        return this;
    }

    /** Sets a property. The builder checks the range. An error also names the property and its origin. */
    static <T> void set(String property, T value, Consumer<T> setter) {
        try {
            setter.accept(value);
        } catch (IllegalArgumentException refused) {
            throw new InvalidConfigurationPropertyValueException(property, value, refused.getMessage());
        }
    }

    /** Chooses the transaction manager of the persistence unit. Other managers do not see its transactions. */
    LockSetup transactionManager(List<PlatformTransactionManager> managers) {
        List<JpaTransactionManager> ofUnit = managers.stream()
                .filter(JpaTransactionManager.class::isInstance)
                .map(JpaTransactionManager.class::cast)
                .filter(this::isOfUnit)
                .toList();
        if (ofUnit.isEmpty()) {
            managers.forEach(LockSetup::refuseJta);
            LOG.warn(
                    "There is no JpaTransactionManager of the locks' persistence unit: transactions commit without a check"
                            + " that their locks are still held");
            return this;
        }
        if (ofUnit.size() > 1) {
            LOG.warn(
                    "There are {} JpaTransactionManagers of the locks' persistence unit: Holdfast checks locks before"
                            + " the commits of one of them only. A LockServiceBuilderCustomizer can name another one",
                    ofUnit.size());
        }
        builder.transactionManager(ofUnit.get(0));
        return this;
    }

    private boolean isOfUnit(JpaTransactionManager manager) {
        EntityManagerFactory managed = manager.getEntityManagerFactory();
        // Spring returns proxies, and several proxies may belong to the same factory.
        return managed != null
                && managed.unwrap(SessionFactoryImplementor.class) == unit.unwrap(SessionFactoryImplementor.class);
    }

    private static void refuseJta(PlatformTransactionManager manager) {
        try {
            CommitGuard.checkSupported(manager);
        } catch (IllegalArgumentException jta) {
            throw PersistenceUnits.jta(
                    "the transaction manager is a " + manager.getClass().getName(), jta);
        }
    }

    LockSetup connections(@Nullable DataSource lockDataSource) {
        if (lockDataSource != null) {
            connections = lockDataSource;
            builder.lockDataSource(lockDataSource);
        }
        return this;
    }

    LockSetup extras(Stream<LockListener> listeners, Stream<LockServiceBuilderCustomizer> customizers) {
        listeners.forEach(builder::listener);
        customizers.forEach(customizer -> customizer.customize(builder));
        return this;
    }

    /**
     * Builds the service.
     *
     * @throws LockSetupException if the service cannot work in this application
     */
    LockService build() {
        try {
            return builder.build();
        } catch (UnsupportedDatabaseException unsupported) {
            throw LockSetupException.of(unsupported);
        } catch (IllegalStateException | LockStoreException failed) {
            throw new LockSetupException(String.valueOf(failed.getMessage()), action(failed), failed);
        }
    }

    private String action(RuntimeException failed) {
        if (!(failed.getCause() instanceof StoreException store)) {
            return isReadOnly() ? ON_PRIMARY : AS_SAID;
        }
        return switch (store.failure()) {
            case TABLE_MISSING -> CREATE_TABLES;
            case REFUSED, READ_ONLY -> ON_PRIMARY;
            default -> REACHABLE;
        };
    }

    private boolean isReadOnly() {
        if (connections == null) {
            return false;
        }
        try (Connection connection = connections.getConnection()) {
            return connection.isReadOnly();
        } catch (SQLException unknown) {
            return false;
        }
    }
}
