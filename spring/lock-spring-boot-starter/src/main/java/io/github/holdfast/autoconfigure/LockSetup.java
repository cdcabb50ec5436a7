package io.github.holdfast.autoconfigure;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import jakarta.persistence.EntityManagerFactory;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.env.Environment;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.util.StringUtils;

/** Builds the service from the application's properties and beans. Its errors name the property or bean at fault. */
final class LockSetup {

    private static final Logger LOG = LoggerFactory.getLogger(LockSetup.class);

    private final LockServiceBuilder builder;
    private final EntityManagerFactory unit;
    private final LockConnections connections;

    LockSetup(EntityManagerFactory unit, LockConnections connections) {
        this.unit = unit;
        this.connections = connections;
        this.builder = LockService.builder(unit);
    }

    LockSetup properties(HoldfastProperties properties, Environment environment) {
        String application = properties.application();
        String springsName = environment.getProperty("spring.application.name", "");
        if (application != null) {
            HoldfastProperties.set("holdfast.application", application, builder::application);
        } else if (!springsName.isBlank()) {
            HoldfastProperties.set("spring.application.name", springsName, builder::application);
        }
        HoldfastProperties.set("holdfast.node-lease", properties.nodeLease(), builder::nodeLease);
        HoldfastProperties.set("holdfast.lock-delay", properties.lockDelay(), builder::lockDelay);
        HoldfastProperties.set("holdfast.clock-tolerance", properties.clockTolerance(), builder::clockTolerance);
        HoldfastProperties.set("holdfast.max-row-locks", properties.maxRowLocks(), builder::maxRowLocks);
        HoldfastProperties.Housekeeping housekeeping = properties.housekeeping();
        HoldfastProperties.set("holdfast.housekeeping.retention", housekeeping.retention(), builder::retention);
        HoldfastProperties.set("holdfast.housekeeping.period", housekeeping.period(), builder::housekeepingEvery);
        if (properties.leakDetection() != null) {
            HoldfastProperties.set("holdfast.leak-detection", properties.leakDetection(), builder::leakDetection);
        }
        if (properties.keepReleased() != null) {
            HoldfastProperties.set("holdfast.keep-released", properties.keepReleased(), builder::keepReleased);
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

    /**
     * Chooses the transaction manager of the persistence unit: the main one, if there are several. Other managers do not see its
     * transactions.
     *
     * @param main the manager that transactions have if they name none; null if there is none
     */
    LockSetup transactionManager(
            Collection<PlatformTransactionManager> managers, @Nullable PlatformTransactionManager main) {
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
        Optional<JpaTransactionManager> mainOfUnit =
                ofUnit.stream().filter(manager -> manager == main).findFirst();
        if (ofUnit.size() > 1) {
            LOG.warn(
                    "There are {} JpaTransactionManagers of the locks' persistence unit: Holdfast checks locks before"
                            + " the commits of {}. A LockServiceBuilderCustomizer can name another one",
                    ofUnit.size(),
                    mainOfUnit.isPresent() ? "the primary one only" : "the first one only, because none is primary");
        }
        builder.transactionManager(mainOfUnit.orElse(ofUnit.get(0)));
        return this;
    }

    private boolean isOfUnit(JpaTransactionManager manager) {
        EntityManagerFactory managed = manager.getEntityManagerFactory();
        // Spring returns proxies, and several proxies may belong to the same factory. The other manager may have
        // another provider.
        return managed != null
                && PersistenceUnits.hibernate(managed)
                        .filter(factory -> factory == unit.unwrap(SessionFactoryImplementor.class))
                        .isPresent();
    }

    private static void refuseJta(PlatformTransactionManager manager) {
        try {
            CommitGuard.checkSupported(manager);
        } catch (IllegalArgumentException jta) {
            throw PersistenceUnits.jta(
                    "the transaction manager is a " + manager.getClass().getName(), jta);
        }
    }

    /** Lets the application's transactions be checked, whose persistence unit is not that of the locks. */
    LockSetup separateTransactionManager(ObjectProvider<PlatformTransactionManager> managers) {
        PlatformTransactionManager manager = managers.getIfUnique();
        if (manager == null) {
            warnOfUnchecked("there is no transaction manager, or several and no primary one");
            return this;
        }
        try {
            builder.separateTransactionManager(manager);
        } catch (IllegalArgumentException | IllegalStateException unsuitable) {
            warnOfUnchecked(String.valueOf(unsuitable.getMessage()));
        }
        return this;
    }

    private static void warnOfUnchecked(String reason) {
        LOG.warn(
                "Transactions commit without a check that their locks are still held, because {}. A LockServiceBuilderCustomizer can"
                        + " name a manager with separateTransactionManager(...)",
                StringUtils.uncapitalize(reason));
    }

    /** Gives lock operations connections of their own, if there are any. */
    LockSetup lockDataSource() {
        DataSource dataSource = connections.orElse(() -> null);
        if (dataSource != null) {
            builder.lockDataSource(dataSource);
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
     * @param plan what creates the tables; null if that is not known
     * @throws LockSetupException if the service cannot work in this application
     */
    LockService build(@Nullable TablePlan plan) {
        try {
            return builder.build();
        } catch (IllegalStateException | LockStoreException failed) {
            throw new SetupAdvice(plan, connections).on(failed);
        }
    }
}
