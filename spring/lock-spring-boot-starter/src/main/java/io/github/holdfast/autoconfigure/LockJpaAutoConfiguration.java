package io.github.holdfast.autoconfigure;

import javax.sql.DataSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jpa.autoconfigure.EntityManagerFactoryBuilderCustomizer;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.ImportRuntimeHints;
import org.springframework.core.env.Environment;

/**
 * Adds the entities of the locks to the application's persistence unit, whatever packages the application scans. It also prepares
 * their tables, and creates the pool of {@code holdfast.datasource.*}, and the unit of {@code holdfast.jpa.own-unit}.
 */
@AutoConfiguration(
        after = DataSourceAutoConfiguration.class,
        before = HibernateJpaAutoConfiguration.class,
        afterName = "org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration")
@ConditionalOnBooleanProperty(name = "holdfast.enabled", matchIfMissing = true)
@EnableConfigurationProperties(HoldfastProperties.class)
@ImportRuntimeHints(SchemaHints.class)
final class LockJpaAutoConfiguration {

    LockJpaAutoConfiguration() {}

    @Bean
    EntityManagerFactoryBuilderCustomizer holdfastEntities(
            HoldfastProperties properties, ConfigurableListableBeanFactory beans) {
        PersistenceUnits units = new PersistenceUnits(beans, properties.jpa());
        return builder -> UnitPostProcessors.add(builder, unit -> {
            if (units.isToHaveLocks(unit.getPersistenceUnitName())) {
                LockEntities.addTo(unit);
            }
        });
    }

    @Bean
    LockSchemaInitializer holdfastSchemaInitializer(
            HoldfastProperties properties,
            ConfigurableListableBeanFactory beans,
            LockConnections connections,
            ObjectProvider<DataSource> dataSource) {
        return new LockSchemaInitializer(beans, properties, connections, dataSource.getIfUnique());
    }

    // Static, so that the configuration itself is not created before other post-processors.
    @Bean
    static LockTablesPostProcessor holdfastTablesPostProcessor(
            ObjectProvider<LockSchemaInitializer> initializer, Environment environment) {
        return new LockTablesPostProcessor(initializer, environment);
    }

    @Bean
    @ConditionalOnBooleanProperty(name = OwnUnit.PROPERTY)
    @DependsOnDatabaseInitialization
    OwnUnit holdfastUnit(
            LockSchemaInitializer schema, LockConnections connections, ConfigurableListableBeanFactory beans) {
        return OwnUnit.on(connections.orElse(() -> null), schema::prepare, beans.getBeanClassLoader());
    }

    @Bean
    LockConnections holdfastConnections(
            @LockDataSource ObjectProvider<DataSource> lockDataSource, ObjectProvider<LockPool> pool) {
        return new LockConnections(lockDataSource, pool);
    }

    @Bean
    @Conditional(LockPool.IsWanted.class)
    LockPool holdfastPool(HoldfastProperties properties, ObjectProvider<DataSource> dataSource) {
        return LockPool.create(properties.datasource(), dataSource.getIfUnique());
    }
}
