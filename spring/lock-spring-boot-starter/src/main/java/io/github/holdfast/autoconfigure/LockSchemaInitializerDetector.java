package io.github.holdfast.autoconfigure;

import java.util.Set;
import org.springframework.boot.sql.init.dependency.AbstractBeansOfTypeDatabaseInitializerDetector;

/** Makes all beans that need the database depend on {@link LockSchemaInitializer}, as they depend on Liquibase and Flyway. */
final class LockSchemaInitializerDetector extends AbstractBeansOfTypeDatabaseInitializerDetector {

    @Override
    protected Set<Class<?>> getDatabaseInitializerBeanTypes() {
        return Set.of(LockSchemaInitializer.class);
    }

    /** After Liquibase (0) and Flyway (1). These may create the tables too, require an empty schema, or drop the whole schema. */
    @Override
    public int getOrder() {
        return 100;
    }
}
