package io.github.holdfast.autoconfigure;

import org.springframework.boot.jpa.EntityManagerFactoryBuilder;
import org.springframework.orm.jpa.persistenceunit.PersistenceUnitPostProcessor;

/** Adds to what changes persistence units as they are built. The starter for Spring Boot 3 has a class of its own for it. */
final class UnitPostProcessors {

    private UnitPostProcessors() {}

    static void add(EntityManagerFactoryBuilder builder, PersistenceUnitPostProcessor postProcessor) {
        try {
            builder.addPersistenceUnitPostProcessors(postProcessor);
        } catch (NoSuchMethodError before41) {
            builder.setPersistenceUnitPostProcessors(BuilderPostProcessors.with(builder, postProcessor));
        }
    }
}
