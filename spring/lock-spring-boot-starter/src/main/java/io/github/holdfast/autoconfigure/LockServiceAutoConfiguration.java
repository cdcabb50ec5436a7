package io.github.holdfast.autoconfigure;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.Environment;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * Configures the {@link LockService} and its {@link LockAdmin}, unless the application defines its own. It also closes all lock
 * services gracefully.
 */
@AutoConfiguration(after = {HibernateJpaAutoConfiguration.class, LockJpaAutoConfiguration.class})
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@Conditional(LockServiceAutoConfiguration.HasUnit.class)
@EnableConfigurationProperties(HoldfastProperties.class)
final class LockServiceAutoConfiguration {

    LockServiceAutoConfiguration() {}

    // The prefix avoids a clash, because Liquibase also has a LockService.
    @Bean
    @ConditionalOnMissingBean
    LockService holdfastLockService(
            HoldfastProperties properties,
            Environment environment,
            ConfigurableListableBeanFactory beans,
            LockConnections connections,
            LockSchemaInitializer schema,
            ObjectProvider<OwnUnit> own,
            ObjectProvider<LockListener> listeners,
            ObjectProvider<LockServiceBuilderCustomizer> customizers) {
        OwnUnit unit = own.getIfAvailable();
        LockSetup setup = unit == null
                ? inApplicationsUnit(properties, beans, connections, schema)
                : apart(unit, beans, connections);
        return setup.properties(properties, environment)
                .extras(listeners.orderedStream(), customizers.orderedStream())
                .build(schema.plan());
    }

    private static LockSetup inApplicationsUnit(
            HoldfastProperties properties,
            ConfigurableListableBeanFactory beans,
            LockConnections connections,
            LockSchemaInitializer schema) {
        EntityManagerFactory unit = new PersistenceUnits(beans, properties.jpa()).withLocks();
        schema.prepareLate(unit);
        return new LockSetup(unit, connections)
                .transactionManager(
                        BeanFactoryUtils.beansOfTypeIncludingAncestors(beans, PlatformTransactionManager.class)
                                .values(),
                        beans.getBeanProvider(PlatformTransactionManager.class).getIfUnique())
                .lockDataSource();
    }

    private static LockSetup apart(OwnUnit unit, ConfigurableListableBeanFactory beans, LockConnections connections) {
        return new LockSetup(unit.factory(), connections)
                .separateTransactionManager(beans.getBeanProvider(PlatformTransactionManager.class));
    }

    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnSingleCandidate(LockService.class)
    LockAdmin holdfastLockAdmin(LockService locks) {
        return locks.admin();
    }

    // Not lazy, because no other bean injects it. It does not create lazy beans itself.
    @Bean
    @Lazy(false)
    LockShutdown holdfastShutdown(ConfigurableListableBeanFactory beans, HoldfastProperties properties) {
        return new LockShutdown(beans, properties.shutdown());
    }

    /** Matches if there is a persistence unit for the locks. */
    static final class HasUnit extends AnyNestedCondition {

        HasUnit() {
            super(ConfigurationPhase.REGISTER_BEAN);
        }

        @ConditionalOnBean(EntityManagerFactory.class)
        static final class OfApplication {}

        @ConditionalOnBooleanProperty(name = OwnUnit.PROPERTY)
        static final class Own {}
    }
}
