package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.LockTables;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * What creates the tables of the locks, and why. It depends on what Hibernate does in the persistence unit of the locks, and not on a
 * property of Spring Boot, which reaches only the units that Spring Boot builds.
 *
 * @param management what creates the tables
 * @param reason the reason, as a clause for messages
 */
record TablePlan(SchemaManagement management, String reason) {

    static final String PROPERTY = "holdfast.schema.management";
    static final String LIQUIBASE = "liquibase.integration.spring.SpringLiquibase";
    static final String FLYWAY = "org.flywaydb.core.Flyway";

    /** What runs Flyway in Spring Boot 4 and 3. */
    private static final List<String> FLYWAY_CONFIGURATIONS = List.of(
            "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
            "org.springframework.boot.autoconfigure.flyway.FlywayAutoConfiguration");

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
        Optional<TablePlan> byLiquibase = byLiquibase(tables.unquotedNames().isPresent(), environment, classes);
        if (byLiquibase.isPresent()) {
            return byLiquibase.get();
        }
        // Hibernate creates only what is missing, so the starter may create the tables first, with their indexes.
        return generation.equals("update")
                ? new TablePlan(SchemaManagement.SQL, "hibernate.hbm2ddl.auto is update")
                : withoutHibernate(environment, classes);
    }

    /** Returns the plan for tables with their plain names, in a unit of which nothing else is known. */
    static TablePlan ofUnknownUnit(Environment environment, @Nullable ClassLoader classes) {
        return byLiquibase(true, environment, classes).orElseGet(() -> withoutHibernate(environment, classes));
    }

    private static Optional<TablePlan> byLiquibase(
            boolean followsNames, Environment environment, @Nullable ClassLoader classes) {
        if (!ClassUtils.isPresent(LIQUIBASE, classes) || !isEnabled("spring.liquibase.enabled", environment)) {
            return Optional.empty();
        }
        return Optional.of(
                followsNames
                        ? new TablePlan(SchemaManagement.LIQUIBASE, "Liquibase is on the class path")
                        : new TablePlan(
                                SchemaManagement.SQL,
                                "the changelog cannot follow the names of the persistence unit's columns or their quotes"));
    }

    private static TablePlan withoutHibernate(Environment environment, @Nullable ClassLoader classes) {
        if (ClassUtils.isPresent(LIQUIBASE, classes)) {
            return elsewhere("spring.liquibase.enabled is false");
        }
        if (!ClassUtils.isPresent(FLYWAY, classes)) {
            return new TablePlan(SchemaManagement.SQL, "there is neither Liquibase nor Flyway");
        }
        if (!isEnabled("spring.flyway.enabled", environment)) {
            return elsewhere("spring.flyway.enabled is false");
        }
        boolean isConfigured = FLYWAY_CONFIGURATIONS.stream().anyMatch(type -> ClassUtils.isPresent(type, classes));
        return new TablePlan(
                SchemaManagement.VALIDATE,
                "Flyway is on the class path, so one of the application's migrations is expected to create them"
                        + (isConfigured
                                ? ""
                                : ". But Spring Boot's module for it, org.springframework.boot:spring-boot-flyway, is missing, so Spring Boot"
                                        + " runs none"));
    }

    private static TablePlan elsewhere(String property) {
        return new TablePlan(
                SchemaManagement.VALIDATE, property + ", so migrations that run elsewhere are expected to create them");
    }

    private static boolean isEnabled(String property, Environment environment) {
        return environment.getProperty(property, Boolean.class, true);
    }
}
