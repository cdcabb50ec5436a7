package io.github.holdfast.autoconfigure;

import java.util.Set;
import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDatabaseInitializerDetector;
import org.springframework.core.env.Environment;

/** Makes all beans that need the database depend on {@link LockSchemaInitializer}, as they depend on Liquibase and Flyway. */
final class LockSchemaInitializerDetector extends AbstractBeansOfTypeDatabaseInitializerDetector {

    private final Environment environment;

    LockSchemaInitializerDetector(Environment environment) {
        this.environment = environment;
    }

    /**
     * Returns nothing if Spring Boot is to initialize the database after Hibernate. Then each initializer depends on the persistence unit. But
     * the unit needs the tables of the locks, so {@link LockTablesPostProcessor} prepares them while the unit is created.
     */
    @Override
    protected Set<Class<?>> getDatabaseInitializerBeanTypes() {
        return environment.getProperty("spring.jpa.defer-datasource-initialization", Boolean.class, false)
                ? Set.of()
                : Set.of(LockSchemaInitializer.class);
    }

    /** After Liquibase (0) and Flyway (1). These may create the tables too, require an empty schema, or drop the whole schema. */
    @Override
    public int getOrder() {
        return 100;
    }
}
