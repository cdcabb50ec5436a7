package io.github.holdfast.autoconfigure;

import org.springframework.boot.orm.jpa.EntityManagerFactoryBuilder;
import org.springframework.orm.jpa.persistenceunit.PersistenceUnitPostProcessor;

/** Adds to what changes persistence units as they are built. */
final class UnitPostProcessors {

    private UnitPostProcessors() {}

    static void add(EntityManagerFactoryBuilder builder, PersistenceUnitPostProcessor postProcessor) {
        builder.setPersistenceUnitPostProcessors(BuilderPostProcessors.with(builder, postProcessor));
    }
}
