package io.github.holdfast.autoconfigure;

import java.util.Set;
import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDatabaseInitializerDetector;

/** Has everything that needs the database wait for {@link LockSchemaInitializer}, as for Liquibase and Flyway. */
final class LockSchemaInitializerDetector extends AbstractBeansOfTypeDatabaseInitializerDetector {

    @Override
    protected Set<Class<?>> getDatabaseInitializerBeanTypes() {
        return Set.of(LockSchemaInitializer.class);
    }

    /** After Liquibase (0) and Flyway (1): they may create the tables too, want an empty schema, or drop all of it. */
    @Override
    public int getOrder() {
        return 100;
    }
}
