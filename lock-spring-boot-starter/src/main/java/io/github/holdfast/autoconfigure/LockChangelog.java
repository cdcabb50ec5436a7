package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.LockSchema;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import liquibase.exception.LiquibaseException;
import liquibase.integration.spring.SpringLiquibase;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseDataSource;
import org.springframework.core.env.Environment;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.util.ClassUtils;

/**
 * The changelog that ships, applied as the application's own is. Not by a bean of type {@code SpringLiquibase}: for that Spring
 * Boot would do without the application's, and take the schema for one that is managed by migrations.
 */
final class LockChangelog {

    /** What of {@code spring.liquibase} says where, and not what. */
    record Settings(
            @Nullable String defaultSchema,
            @Nullable String liquibaseSchema,
            @Nullable String liquibaseTablespace,
            @Nullable String databaseChangeLogTable,
            @Nullable String databaseChangeLogLockTable,
            @Nullable String url,
            @Nullable String user,
            @Nullable String password,
            @Nullable String driverClassName,
            @DefaultValue Map<String, String> parameters) {}

    private LockChangelog() {}

    static void apply(ConfigurableListableBeanFactory beans, DataSource target) {
        Settings settings =
                Binder.get(beans.getBean(Environment.class)).bindOrCreate("spring.liquibase", Settings.class);
        SpringLiquibase liquibase = new SpringLiquibase();
        liquibase.setBeanName("holdfastSchemaInitializer");
        liquibase.setResourceLoader(new DefaultResourceLoader(beans.getBeanClassLoader()));
        liquibase.setChangeLog("classpath:" + LockSchema.CHANGELOG);
        liquibase.setDataSource(migrating(beans, settings, target));
        liquibase.setChangeLogParameters(settings.parameters());
        liquibase.setDefaultSchema(settings.defaultSchema());
        liquibase.setLiquibaseSchema(settings.liquibaseSchema());
        liquibase.setLiquibaseTablespace(settings.liquibaseTablespace());
        if (settings.databaseChangeLogTable() != null) {
            liquibase.setDatabaseChangeLogTable(settings.databaseChangeLogTable());
        }
        if (settings.databaseChangeLogLockTable() != null) {
            liquibase.setDatabaseChangeLogLockTable(settings.databaseChangeLogLockTable());
        }
        liquibase.setAnalyticsEnabled(false);
        try {
            liquibase.afterPropertiesSet();
        } catch (LiquibaseException failed) {
            throw new LockSetupException(
                    "Liquibase did not apply " + LockSchema.CHANGELOG + ": " + failed.getMessage(),
                    "Let a user apply it who may create tables (spring.liquibase.user, spring.liquibase.password), or include"
                            + " it in a changelog that is applied elsewhere, and set\n\n"
                            + "    holdfast.schema.management=validate",
                    failed);
        }
    }

    /** As Spring Boot chooses for the application's changelog. */
    private static DataSource migrating(ConfigurableListableBeanFactory beans, Settings settings, DataSource target) {
        if (ClassUtils.isPresent(
                "org.springframework.boot.liquibase.autoconfigure.LiquibaseDataSource", beans.getBeanClassLoader())) {
            List<String> names = DataSourceBeans.annotatedWith(LiquibaseDataSource.class, beans);
            if (names.size() == 1) {
                return beans.getBean(names.get(0), DataSource.class);
            }
        }
        if (settings.url() == null && settings.user() == null) {
            return target;
        }
        DataSourceBuilder<?> builder =
                settings.url() == null ? DataSourceBuilder.derivedFrom(target) : DataSourceBuilder.create();
        builder = builder.type(SimpleDriverDataSource.class);
        if (settings.url() != null) {
            builder.url(settings.url());
        }
        if (settings.driverClassName() != null) {
            builder.driverClassName(settings.driverClassName());
        }
        builder.username(settings.user());
        builder.password(settings.password());
        return builder.build();
    }
}
