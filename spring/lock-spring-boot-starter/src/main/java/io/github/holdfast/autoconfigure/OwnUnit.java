package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.LockTables;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.SharedCacheMode;
import jakarta.persistence.ValidationMode;
import java.util.Objects;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;

/**
 * The persistence unit of {@code holdfast.jpa.own-unit}: it has the entities of the locks alone, and resource-local transactions. Its
 * factory is not a bean, because Spring Boot builds no unit for an application that has one.
 */
final class OwnUnit implements AutoCloseable {

    static final String PROPERTY = "holdfast.jpa.own-unit";

    /** What an application sets for connections of their own, as a line and as lines of advice. */
    static final String POOL_SIZE =
            "    holdfast.datasource.maximum-pool-size=<3, and one for each thread that commits under locks at the same time>";

    static final String DATABASE = """
                holdfast.datasource.url=<JDBC URL>
                holdfast.datasource.username=<user>
                holdfast.datasource.password=<password>\
            """;

    private final LocalContainerEntityManagerFactoryBean unit;

    private OwnUnit(LocalContainerEntityManagerFactoryBean unit) {
        this.unit = unit;
    }

    /**
     * Builds the unit.
     *
     * @param prepare prepares the tables, before Hibernate uses them
     * @param dataSource the connections of the locks; null if they have none of their own. Those of the application would be left in the
     *     schema of a tenant, or take part in a JTA transaction, and commits that are checked would wait for each other
     * @throws LockSetupException if they have none
     */
    static OwnUnit on(@Nullable DataSource dataSource, Consumer<LockTables> prepare, @Nullable ClassLoader classes) {
        if (dataSource == null) {
            throw new LockSetupException(
                    PROPERTY + " is set, and the locks have no connections of their own",
                    """
                    Give them a copy of the application's pool, which no tenant and no JTA transaction changes:

                    %s

                    If the DataSource bean belongs to JTA, or chooses a database by tenant, also name the database of the locks:

                    %s

                    Or annotate a DataSource bean with @LockDataSource.""".formatted(POOL_SIZE, DATABASE));
        }
        LocalContainerEntityManagerFactoryBean unit = new LocalContainerEntityManagerFactoryBean();
        unit.setPersistenceUnitName("holdfast");
        unit.setDataSource(dataSource);
        unit.setManagedTypes(PersistenceManagedTypes.of(
                LockEntities.ALL.stream().map(Class::getName).toArray(String[]::new)));
        unit.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
        unit.setSharedCacheMode(SharedCacheMode.NONE);
        unit.setValidationMode(ValidationMode.NONE);
        unit.getJpaPropertyMap().put(LockTables.LISTENER, prepare);
        if (classes != null) {
            unit.setBeanClassLoader(classes);
        }
        unit.afterPropertiesSet();
        return new OwnUnit(unit);
    }

    EntityManagerFactory factory() {
        return Objects.requireNonNull(unit.getObject());
    }

    @Override
    public void close() {
        unit.destroy();
    }
}
