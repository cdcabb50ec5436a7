package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.UnsupportedDatabaseException;
import jakarta.persistence.EntityManagerFactory;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.jdbc.EmbeddedDatabaseConnection;
import org.springframework.boot.jdbc.SchemaManagementProvider;
import org.springframework.core.env.Environment;
import org.springframework.util.ClassUtils;

/**
 * Prepares the tables of the locks before the creation of any persistence unit. It runs after the application's own Liquibase,
 * Flyway or scripts (see {@link LockSchemaInitializerDetector}), because these may create the tables too, or drop everything
 * first.
 */
final class LockSchemaInitializer implements InitializingBean {

    static final String LIQUIBASE = "liquibase.integration.spring.SpringLiquibase";
    static final String FLYWAY = "org.flywaydb.core.Flyway";

    private static final Logger LOG = LoggerFactory.getLogger(LockSchemaInitializer.class);
    private static final String PROPERTY = "holdfast.schema.management";

    private final ConfigurableListableBeanFactory beans;
    private final Environment environment;
    private final @Nullable SchemaManagement chosen;
    private final @Nullable DataSource dataSource;
    private final @Nullable DataSource application;

    LockSchemaInitializer(
            ConfigurableListableBeanFactory beans,
            HoldfastProperties properties,
            @Nullable DataSource dataSource,
            @Nullable DataSource application) {
        this.beans = beans;
        this.environment = beans.getBean(Environment.class);
        this.chosen = properties.schema().management();
        this.dataSource = dataSource;
        this.application = application;
    }

    @Override
    public void afterPropertiesSet() {
        if (chosen == null && beans.getBeanNamesForType(EntityManagerFactory.class, true, false).length == 0) {
            return;
        }
        if (dataSource == null) {
            withoutDataSource();
            return;
        }
        // Spring Boot's default for Hibernate depends on the application's data source, so the decision uses that one
        // if it exists.
        SchemaManagement management =
                chosen != null ? chosen : byDefault(application != null ? application : dataSource);
        LOG.debug("{}={}", PROPERTY, management);
        switch (management) {
            case LIQUIBASE -> migrate(dataSource);
            case SQL -> createIfMissing(dataSource);
            case VALIDATE -> validate(dataSource);
            case NONE -> {}
        }
    }

    private void withoutDataSource() {
        if (chosen == null || chosen == SchemaManagement.NONE) {
            LOG.debug("There is no data source, or several and no primary one: {}=none", PROPERTY);
            return;
        }
        throw new LockSetupException(
                PROPERTY + " is set, but there is no data source, or several and no primary one",
                "Annotate the DataSource bean of the locks' persistence unit with @LockDataSource, or set\n\n    "
                        + PROPERTY + "=none");
    }

    SchemaManagement byDefault(DataSource target) {
        if (isCreatedByHibernate(target)) {
            return SchemaManagement.NONE;
        }
        if (isPresent(LIQUIBASE)) {
            return environment.getProperty("spring.liquibase.enabled", Boolean.class, true)
                    ? SchemaManagement.LIQUIBASE
                    : SchemaManagement.VALIDATE;
        }
        return isPresent(FLYWAY) ? SchemaManagement.VALIDATE : SchemaManagement.SQL;
    }

    private boolean isPresent(String className) {
        return ClassUtils.isPresent(className, beans.getBeanClassLoader());
    }

    /**
     * Returns whether Hibernate creates the tables. It does so by default in an embedded database, and would drop existing ones.
     */
    private boolean isCreatedByHibernate(DataSource target) {
        String ddl = firstProperty(
                "spring.jpa.hibernate.ddl-auto",
                "spring.jpa.properties.hibernate.hbm2ddl.auto",
                "spring.jpa.properties.jakarta.persistence.schema-generation.database.action");
        if (ddl != null) {
            return ddl.contains("create");
        }
        return EmbeddedDatabaseConnection.isEmbedded(target)
                && beans.getBeanProvider(SchemaManagementProvider.class).stream()
                        .noneMatch(provider -> provider.getSchemaManagement(target)
                                == org.springframework.boot.jdbc.SchemaManagement.MANAGED);
    }

    private @Nullable String firstProperty(String... names) {
        for (String name : names) {
            String value = environment.getProperty(name);
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    private void migrate(DataSource target) {
        if (!isPresent(LIQUIBASE)) {
            throw new LockSetupException(
                    PROPERTY + " is liquibase, but Liquibase is not on the class path",
                    "Add the dependency org.liquibase:liquibase-core, or set\n\n    " + PROPERTY + "=sql");
        }
        LockChangelog.apply(beans, target);
    }

    private static void createIfMissing(DataSource target) {
        try {
            LockSchema.on(target).createIfMissing();
        } catch (UnsupportedDatabaseException unsupported) {
            throw LockSetupException.of(unsupported);
        } catch (IllegalStateException failed) {
            throw new LockSetupException(
                    String.valueOf(failed.getMessage()),
                    "Create the tables as a user with that right, and set\n\n    " + PROPERTY + "=validate",
                    failed);
        }
    }

    private static void validate(DataSource target) {
        try {
            LockSchema.on(target).validate();
        } catch (UnsupportedDatabaseException unsupported) {
            throw LockSetupException.of(unsupported);
        } catch (IllegalStateException failed) {
            throw new LockSetupException(String.valueOf(failed.getMessage()), LockSetup.CREATE_TABLES, failed);
        }
    }
}
