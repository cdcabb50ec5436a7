package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.LockTables;
import java.util.function.Consumer;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.env.Environment;
import org.springframework.orm.jpa.AbstractEntityManagerFactoryBean;

/** Lets the persistence unit of the locks say what its tables are called while it is built, also one that is built by hand. */
final class LockTablesPostProcessor implements BeanPostProcessor {

    private final ObjectProvider<LockSchemaInitializer> initializer;
    private final Environment environment;

    LockTablesPostProcessor(ObjectProvider<LockSchemaInitializer> initializer, Environment environment) {
        this.initializer = initializer;
        this.environment = environment;
    }

    @Override
    public Object postProcessBeforeInitialization(Object bean, String name) {
        if (bean instanceof AbstractEntityManagerFactoryBean unit && mayHaveLocks(unit)) {
            // Not when Hibernate calls it: that may be in another thread, while this one holds the lock on the creation
            // of beans.
            Consumer<LockTables> listener = initializer.getObject()::prepare;
            unit.getJpaPropertyMap().putIfAbsent(LockTables.LISTENER, listener);
        }
        return bean;
    }

    private boolean mayHaveLocks(AbstractEntityManagerFactoryBean unit) {
        if (environment.getProperty(OwnUnit.PROPERTY, Boolean.class, false)) {
            return false;
        }
        String chosen = environment.getProperty(PersistenceUnits.PROPERTY);
        String name = unit.getPersistenceUnitName();
        return chosen == null || chosen.equals(name == null ? "default" : name);
    }
}
