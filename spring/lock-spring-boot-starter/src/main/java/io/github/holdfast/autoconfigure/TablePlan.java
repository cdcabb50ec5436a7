package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.LockTables;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Who creates the tables of the locks, and why. It depends on what Hibernate does in the persistence unit of the locks, and not on a
 * property of Spring Boot, which reaches only the units that Spring Boot builds.
 *
 * @param management who creates the tables
 * @param reason the reason, as a clause for messages
 */
record TablePlan(SchemaManagement management, String reason) {

    static final String PROPERTY = "holdfast.schema.management";
    static final String LIQUIBASE = "liquibase.integration.spring.SpringLiquibase";
    static final String FLYWAY = "org.flywaydb.core.Flyway";

    /** Returns the plan of an application that has chosen one. */
    static TablePlan chosen(SchemaManagement chosen) {
        return new TablePlan(chosen, PROPERTY + " is " + chosen.name().toLowerCase(Locale.ROOT));
    }

    static TablePlan of(
            @Nullable SchemaManagement chosen,
            LockTables tables,
            Environment environment,
            @Nullable ClassLoader classes) {
        if (chosen != null) {
            return chosen(chosen);
        }
        String generation = tables.generation();
        if (generation.contains("create")) {
            return new TablePlan(
                    SchemaManagement.NONE,
                    "Hibernate creates the tables of the persistence unit (hibernate.hbm2ddl.auto=" + generation + ")");
        }
        boolean hasLiquibase = ClassUtils.isPresent(LIQUIBASE, classes);
        if (hasLiquibase && isEnabled("spring.liquibase.enabled", environment)) {
            return tables.unquotedNames().isPresent()
                    ? new TablePlan(SchemaManagement.LIQUIBASE, "Liquibase is on the class path")
                    : new TablePlan(
                            SchemaManagement.SQL,
                            "the changelog cannot follow the names of the persistence unit's columns or their quotes");
        }
        // Hibernate creates only what is missing, so the starter may create the tables first, with their indexes.
        if (generation.equals("update")) {
            return new TablePlan(SchemaManagement.SQL, "hibernate.hbm2ddl.auto is update");
        }
        if (hasLiquibase) {
            return elsewhere("spring.liquibase.enabled is false");
        }
        if (!ClassUtils.isPresent(FLYWAY, classes)) {
            return new TablePlan(SchemaManagement.SQL, "there is neither Liquibase nor Flyway");
        }
        return isEnabled("spring.flyway.enabled", environment)
                ? new TablePlan(
                        SchemaManagement.VALIDATE,
                        "Flyway is on the class path, so one of the application's migrations is expected to create them")
                : elsewhere("spring.flyway.enabled is false");
    }

    private static TablePlan elsewhere(String property) {
        return new TablePlan(
                SchemaManagement.VALIDATE, property + ", so migrations that run elsewhere are expected to create them");
    }

    private static boolean isEnabled(String property, Environment environment) {
        return environment.getProperty(property, Boolean.class, true);
    }
}
