package io.github.holdfast.autoconfigure;

import org.springframework.boot.orm.jpa.EntityManagerFactoryBuilder;
import org.springframework.orm.jpa.persistenceunit.PersistenceUnitPostProcessor;

/** Sets what changes persistence units as they are built. Spring Boot 3 applies the post-processors of only one customizer. */
final class UnitPostProcessors {

    private UnitPostProcessors() {}

    static void add(EntityManagerFactoryBuilder builder, PersistenceUnitPostProcessor postProcessor) {
        builder.setPersistenceUnitPostProcessors(postProcessor);
    }
}
