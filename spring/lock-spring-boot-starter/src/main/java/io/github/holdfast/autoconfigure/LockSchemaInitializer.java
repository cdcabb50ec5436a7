package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.DatabaseSetupException;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.LockTables;
import io.github.holdfast.repository.UnsupportedDatabaseException;
import jakarta.persistence.EntityManagerFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.env.Environment;
import org.springframework.orm.jpa.AbstractEntityManagerFactoryBean;
import org.springframework.util.ClassUtils;

/**
 * Prepares the tables of the locks while their persistence unit is built: its mapping is known then, and Hibernate has not validated the
 * tables yet. As a bean, it makes sure that the database can be reached. It comes after the application's own Liquibase, Flyway or
 * scripts, and before the units, unless {@code spring.jpa.defer-datasource-initialization} is true (see {@link
 * LockSchemaInitializerDetector}).
 */
final class LockSchemaInitializer implements InitializingBean {

    private static final Logger LOG = LoggerFactory.getLogger(LockSchemaInitializer.class);

    private final ConfigurableListableBeanFactory beans;
    private final HoldfastProperties.Schema properties;
    private final boolean isApart;
    private final boolean hasOwnUrl;
    private final LockConnections connections;
    private final @Nullable DataSource application;
    private volatile @Nullable TablePlan plan;

    LockSchemaInitializer(
            ConfigurableListableBeanFactory beans,
            HoldfastProperties properties,
            LockConnections connections,
            @Nullable DataSource application) {
        this.beans = beans;
        this.properties = properties.schema();
        this.isApart = properties.jpa().ownUnit();
        this.hasOwnUrl = properties.datasource().url() != null;
        this.connections = connections;
        this.application = application;
    }

    @Override
    public void afterPropertiesSet() {
        if (isApart || has(EntityManagerFactory.class)) {
            DataSource dataSource = connections.orElse(() -> application);
            if (dataSource != null) {
                connect(dataSource);
                prepareForUnitOutOfSight(dataSource);
            }
        } else if (properties.management() != null) {
            withoutUnit(TablePlan.chosen(properties.management()), connections.orElse(() -> application));
        }
    }

    /**
     * A unit that a method builds itself, and declares as a finished factory, may validate tables that nothing has prepared. Its database is
     * a guess, so a failure is left to what follows.
     */
    private void prepareForUnitOutOfSight(DataSource dataSource) {
        if (isApart
                || has(AbstractEntityManagerFactoryBean.class)
                || BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, DataSource.class, true, false).length
                        > 1) {
            return;
        }
        TablePlan likely = properties.management() != null
                ? TablePlan.chosen(properties.management())
                : TablePlan.ofUnknownUnit(beans.getBean(Environment.class), beans.getBeanClassLoader());
        if (likely.management() == SchemaManagement.LIQUIBASE || likely.management() == SchemaManagement.SQL) {
            try {
                prepare(likely, LockSchema.on(dataSource), dataSource, null);
            } catch (RuntimeException failed) {
                LOG.debug(
                        "The tables for a persistence unit that was built out of sight could not be prepared", failed);
            }
        }
    }

    private boolean has(Class<?> type) {
        return BeanFactoryUtils.beanNamesForTypeIncludingAncestors(beans, type, true, false).length > 0;
    }

    /** Hibernate does not say why it has no connection. */
    private void connect(DataSource dataSource) {
        try {
            LockSchema.on(dataSource).connect();
        } catch (DatabaseSetupException failed) {
            throw new SetupAdvice(null, connections).on(failed);
        }
    }

    private void withoutUnit(TablePlan chosen, @Nullable DataSource dataSource) {
        if (dataSource != null) {
            prepare(chosen, LockSchema.on(dataSource), dataSource, null);
        } else if (chosen.management() != SchemaManagement.NONE) {
            throw new LockSetupException(
                    TablePlan.PROPERTY + " is set, but there is no data source, or several and no primary one",
                    "Annotate the DataSource bean for the locks with @LockDataSource, or set\n\n    "
                            + TablePlan.PROPERTY + "=none");
        }
    }

    /** Returns what creates the tables; null before the persistence unit is built. */
    @Nullable
    TablePlan plan() {
        return plan;
    }

    /** Prepares the tables of a unit that was built without {@link #prepare(LockTables)}. */
    void prepareLate(EntityManagerFactory unit) {
        if (plan != null || PersistenceUnits.hibernate(unit).isEmpty()) {
            return;
        }
        try {
            prepare(LockTables.of(unit));
        } catch (UnsupportedDatabaseException unsupported) {
            throw LockSetupException.of(unsupported);
        }
    }

    /** Prepares the tables of the unit, which is being built. */
    void prepare(LockTables tables) {
        writeScript(tables);
        TablePlan decided = TablePlan.of(
                properties.management(), tables, beans.getBean(Environment.class), beans.getBeanClassLoader());
        plan = decided;
        LOG.debug("{}={}: {}", TablePlan.PROPERTY, decided.management(), decided.reason());
        DataSource ofUnit = tables.dataSource().orElse(application);
        DataSource own = connections.orElse(() -> null);
        DataSource target = own != null ? own : ofUnit;
        if (target == null) {
            LOG.debug("The data source of the persistence unit is not known, so its tables are not prepared");
            return;
        }
        prepare(decided, tables.on(target), target, tables);
        if (own != null && ofUnit != null && decided.management() != SchemaManagement.NONE) {
            checkSameTables(tables.on(ofUnit));
        }
    }

    private void prepare(TablePlan decided, LockSchema schema, DataSource target, @Nullable LockTables tables) {
        try {
            switch (decided.management()) {
                case LIQUIBASE -> migrate(target, tables);
                case SQL -> schema.createIfMissing();
                case VALIDATE -> schema.validate();
                case NONE -> validateBeforeHibernate(schema, tables);
            }
        } catch (UnsupportedDatabaseException unsupported) {
            throw LockSetupException.of(unsupported);
        } catch (DatabaseSetupException failed) {
            throw new SetupAdvice(decided, connections).on(failed);
        }
    }

    /** Hibernate names only the first table that it misses, and not what should have created it. */
    private static void validateBeforeHibernate(LockSchema schema, @Nullable LockTables tables) {
        if (tables != null && tables.generation().equals("validate")) {
            schema.validate();
        }
    }

    private void checkSameTables(LockSchema ofUnit) {
        try {
            ofUnit.validate();
        } catch (DatabaseSetupException elsewhere) {
            throw new SetupAdvice(plan, connections).onOtherDatabase(elsewhere);
        }
    }

    private void migrate(DataSource target, @Nullable LockTables tables) {
        if (!ClassUtils.isPresent(TablePlan.LIQUIBASE, beans.getBeanClassLoader())) {
            throw new LockSetupException(
                    TablePlan.PROPERTY + " is liquibase, but Liquibase is not on the class path",
                    "Add the dependency org.liquibase:liquibase-core, or set\n\n    " + TablePlan.PROPERTY + "=sql");
        }
        DataSource ofUnit = tables == null ? target : tables.dataSource().orElse(target);
        LockChangelog.apply(beans, target, isOfApplication(ofUnit), tables);
    }

    /** Returns whether the connections are the application's, or a copy of them. The locks may be in another unit's database. */
    private boolean isOfApplication(DataSource dataSource) {
        return dataSource == application
                || (!hasOwnUrl
                        && connections.kind() == LockConnections.Kind.OWN_POOL
                        && dataSource == connections.orElse(() -> null));
    }

    private void writeScript(LockTables tables) {
        if (properties.script() == null) {
            return;
        }
        try {
            Path file = Path.of(properties.script());
            String script = tables.script();
            if (Files.isRegularFile(file) && !Files.readString(file).equals(script)) {
                throw new LockSetupException(
                        "holdfast.schema.script names " + file + ", which exists and has other content",
                        "Name a new file, or remove the property. A migration that has run must not change.");
            }
            Files.writeString(file, script);
            LOG.info("The SQL that creates the lock tables of this persistence unit is in {}", file.toAbsolutePath());
        } catch (IOException | InvalidPathException failed) {
            throw new LockSetupException(
                    "The file of holdfast.schema.script cannot be read or written: " + failed,
                    "Name a new file in a directory that exists, or remove the property.",
                    failed);
        }
    }
}
