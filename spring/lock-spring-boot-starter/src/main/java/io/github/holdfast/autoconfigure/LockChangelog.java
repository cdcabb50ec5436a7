package io.github.holdfast.autoconfigure;

import io.github.holdfast.autoconfigure.liquibase.BackgroundLiquibase;
import io.github.holdfast.autoconfigure.liquibase.LockLiquibase;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.LockTables;
import io.github.holdfast.repository.UnsupportedDatabaseException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import liquibase.exception.LiquibaseException;
import liquibase.exception.LockException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseConnectionDetails;
import org.springframework.boot.liquibase.autoconfigure.LiquibaseDataSource;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.core.env.Environment;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.util.ClassUtils;
import org.springframework.util.StringUtils;

/**
 * Applies the bundled changelog with the settings of the application's own changelog. It defines no bean of type {@code
 * SpringLiquibase}. With such a bean, Spring Boot would not create the application's own, and would assume that migrations manage
 * the schema.
 */
final class LockChangelog {

    /** The properties of {@code spring.liquibase} about the target of a changelog, not about its content. */
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

    /** Spring Boot's mark of a data source for migrations. An application with Liquibase alone does not have it. */
    static final String MARK = "org.springframework.boot.liquibase.autoconfigure.LiquibaseDataSource";

    private static final Logger LOG = LoggerFactory.getLogger(LockChangelog.class);

    private static final String APPLY = """
            Apply it as a user with the right to create tables (spring.liquibase.user, spring.liquibase.password), or \
            include it in a changelog that is applied elsewhere, and set

                holdfast.schema.management=validate""";

    private static final String RACE = """
            The application's own Liquibase may run in the background at the same time: %s. Make the application wait \
            until it ends; in applications made by JHipster

                application.liquibase.async-start=false

            Or create the tables without Liquibase:

                holdfast.schema.management=sql""";

    private static final String LOCKED = """
            Another process is applying its changelog, perhaps the application's own Liquibase in the background: wait \
            for it. If there is none, the holder of Liquibase's lock has died: release the lock with Liquibase's \
            command release-locks, or by

                update DATABASECHANGELOGLOCK set LOCKED = false, LOCKEDBY = null, LOCKGRANTED = null

            With lock-liquibase, the lock is free when its lease has expired.""";

    private LockChangelog() {}

    /**
     * Applies the changelog.
     *
     * @param isOfApplication whether the target is the database of the application's own changelog
     * @param tables what the persistence unit calls its tables; null without a unit
     */
    static void apply(
            ConfigurableListableBeanFactory beans,
            DataSource target,
            boolean isOfApplication,
            @Nullable LockTables tables) {
        Settings settings =
                Binder.get(beans.getBean(Environment.class)).bindOrCreate("spring.liquibase", Settings.class);
        DataSource migrating = migrating(beans, settings, target, isOfApplication);
        BackgroundLiquibase others = BackgroundLiquibase.on(migrating, beans);
        LockLiquibase liquibase = new LockLiquibase();
        liquibase.setResourceLoader(new DefaultResourceLoader(beans.getBeanClassLoader()));
        liquibase.setChangeLog("classpath:" + LockSchema.CHANGELOG);
        liquibase.setDataSource(migrating);
        liquibase.setChangeLogParameters(parameters(settings, tables));
        place(liquibase, settings, tables);
        liquibase.setLiquibaseTablespace(settings.liquibaseTablespace());
        if (settings.databaseChangeLogTable() != null) {
            liquibase.setDatabaseChangeLogTable(settings.databaseChangeLogTable());
        }
        if (settings.databaseChangeLogLockTable() != null) {
            liquibase.setDatabaseChangeLogLockTable(settings.databaseChangeLogLockTable());
        }
        liquibase.setAnalyticsEnabled(false);
        try {
            others.await();
            if (liquibase.isApplied()) {
                LOG.debug("Liquibase's table has all change sets of {}", LockSchema.CHANGELOG);
            } else {
                run(liquibase, beans);
            }
        } catch (LiquibaseException failed) {
            refuseUnsupported(target);
            throw new LockSetupException(
                    "Liquibase did not apply " + LockSchema.CHANGELOG + ": " + failed.getMessage(),
                    action(failed, others),
                    failed);
        }
    }

    private static Map<String, String> parameters(Settings settings, @Nullable LockTables tables) {
        Map<String, String> parameters = new HashMap<>();
        if (tables != null) {
            tables.unquotedNames().orElseThrow(() -> cannotFollow()).forEach((plain, name) -> {
                if (!name.equals(plain)) {
                    parameters.put("holdfast." + plain, name);
                }
            });
        }
        parameters.putAll(settings.parameters());
        return parameters;
    }

    private static LockSetupException cannotFollow() {
        return new LockSetupException(
                "The persistence unit quotes the names of the lock tables, or renames their columns, and the changelog %s cannot do so"
                        .formatted(LockSchema.CHANGELOG),
                """
                Let the starter create the tables:

                    holdfast.schema.management=sql

                or put the SQL for this persistence unit, which is written to a file by

                    holdfast.schema.script=<file>

                into a changelog of your own, and set

                    holdfast.schema.management=validate""");
    }

    /** Puts the tables where the persistence unit looks for them, and leaves Liquibase's own where they were. */
    private static void place(LockLiquibase liquibase, Settings settings, @Nullable LockTables tables) {
        String schema = tables == null ? null : tables.schema().orElse(null);
        liquibase.setDefaultSchema(schema != null ? schema : settings.defaultSchema());
        String ofLiquibase = settings.liquibaseSchema();
        if (ofLiquibase == null && schema != null) {
            ofLiquibase = settings.defaultSchema() != null ? settings.defaultSchema() : liquibase.currentSchema();
        }
        liquibase.setLiquibaseSchema(ofLiquibase);
    }

    /**
     * Runs Liquibase, and repeats it once if another process has created Liquibase's tables meanwhile. Liquibase creates them
     * without its lock, so the second process fails.
     */
    private static void run(LockLiquibase liquibase, ConfigurableListableBeanFactory beans) throws LiquibaseException {
        boolean isFirst = liquibase.history() == LockLiquibase.History.MISSING;
        try {
            initialize(liquibase, beans);
        } catch (LiquibaseException failed) {
            if (!isFirst || liquibase.history() == LockLiquibase.History.MISSING) {
                throw failed;
            }
            LOG.info("Liquibase failed, perhaps because another run was creating its tables; trying again", failed);
            initialize(liquibase, beans);
        }
    }

    /**
     * Runs Liquibase as the bean factory runs that of the application. So what protects each run by a lock protects this one too: such
     * a post-processor expects a bean.
     */
    private static void initialize(LockLiquibase liquibase, ConfigurableListableBeanFactory beans)
            throws LiquibaseException {
        try {
            Object unused = beans.initializeBean(liquibase, "holdfastSchemaInitializer");
        } catch (BeanCreationException failed) {
            if (failed.getCause() instanceof LiquibaseException cause) {
                throw cause;
            }
            throw failed;
        }
    }

    /** Refuses an unsupported database. Liquibase's own error would not explain the reason. */
    private static void refuseUnsupported(DataSource target) {
        try {
            LockSchema.on(target).validate();
        } catch (UnsupportedDatabaseException unsupported) {
            throw LockSetupException.of(unsupported);
        } catch (IllegalStateException missing) {
            LOG.debug("The lock tables are missing", missing);
        }
    }

    private static String action(LiquibaseException failed, BackgroundLiquibase others) {
        if (NestedExceptionUtils.getMostSpecificCause(failed) instanceof LockException) {
            return LOCKED;
        }
        return others.isThere() ? RACE.formatted(others.names()) : APPLY;
    }

    /** Returns the data source for migrations, by the same rules as Spring Boot for the application's changelog. */
    private static DataSource migrating(
            ConfigurableListableBeanFactory beans, Settings settings, DataSource target, boolean isOfApplication) {
        if (ClassUtils.isPresent(MARK, beans.getBeanClassLoader())) {
            List<String> names = DataSourceBeans.annotatedWith(LiquibaseDataSource.class, beans);
            if (names.size() == 1) {
                return beans.getBean(names.get(0), DataSource.class);
            }
            LiquibaseConnectionDetails details =
                    beans.getBeanProvider(LiquibaseConnectionDetails.class).getIfUnique();
            if (details != null && isOfApplication) {
                return migrating(
                        target,
                        details.getJdbcUrl(),
                        details.getUsername(),
                        details.getPassword(),
                        details.getDriverClassName());
            }
        }
        return migrating(target, settings.url(), settings.user(), settings.password(), settings.driverClassName());
    }

    private static DataSource migrating(
            DataSource target,
            @Nullable String url,
            @Nullable String user,
            @Nullable String password,
            @Nullable String driver) {
        if (url == null && user == null) {
            return target;
        }
        DataSourceBuilder<?> builder = url == null ? DataSourceBuilder.derivedFrom(target) : DataSourceBuilder.create();
        builder = builder.type(SimpleDriverDataSource.class);
        if (url != null) {
            builder.url(url);
        }
        if (StringUtils.hasText(driver)) {
            builder.driverClassName(driver);
        }
        builder.username(user);
        builder.password(password);
        return builder.build();
    }
}
