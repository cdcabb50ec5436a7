package io.github.holdfast.contract;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.LockTables;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;
import org.hibernate.SessionFactory;
import org.hibernate.jpa.HibernatePersistenceProvider;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * The user's database, with lock services on it. Closing it removes all rows of these services, and the tables that did not exist
 * before. All names begin with a {@linkplain #name prefix} that is unique to this run.
 */
final class DatabaseUnderTest implements AutoCloseable {

    private final String prefix =
            "holdfast contract " + UUID.randomUUID().toString().substring(0, 8);
    private final DataSource dataSource;
    private final Map<String, String> properties;
    private final UnaryOperator<LockServiceBuilder> settings;
    private final List<String> createdTables = new ArrayList<>();
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final EntityManagerFactory unit;
    private final TransactionTemplate transaction;
    private final LockService fenced;

    DatabaseUnderTest(
            DataSource dataSource, Map<String, String> properties, UnaryOperator<LockServiceBuilder> settings) {
        this.dataSource = dataSource;
        this.properties = properties;
        this.settings = settings;
        LockSchema.on(dataSource).connect(); // Hibernate does not say why it has no connection.
        try {
            unit = unit(dataSource);
            JpaTransactionManager manager = new JpaTransactionManager(unit);
            manager.setJpaDialect(new HibernateJpaDialect());
            transaction = new TransactionTemplate(manager);
            fenced = service(unit, builder -> builder.transactionManager(manager));
        } catch (RuntimeException | Error refused) {
            giveUp(refused);
            throw refused;
        }
    }

    /** Closes what was opened, and drops the tables that were created. */
    private void giveUp(Throwable refused) {
        try {
            closeOpened();
            dropCreatedTables();
        } catch (Exception alsoFailed) {
            refused.addSuppressed(alsoFailed);
        }
    }

    private void closeOpened() throws Exception {
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
    }

    /** Returns the name of a lock, or of another row of the contract. */
    String name(String what) {
        return prefix + " " + what;
    }

    /** Returns the service that fences {@link #inTransaction transactions}. */
    LockService fenced() {
        return fenced;
    }

    /** Opens another service with a separate persistence unit, as if in another process. */
    LockService open() {
        return service(unit(dataSource), builder -> builder);
    }

    /** Opens another service, on connections that can break. */
    LockService open(FaultyDataSource faults, UnaryOperator<LockServiceBuilder> more) {
        return service(unit(faults), builder -> more.apply(builder.lockDataSource(faults)));
    }

    /** Returns a data source for the same database, with connections that can break. */
    FaultyDataSource faults() {
        return new FaultyDataSource(dataSource);
    }

    private LockService service(EntityManagerFactory onUnit, UnaryOperator<LockServiceBuilder> more) {
        LockServiceBuilder builder =
                settings.apply(LockService.builder(onUnit)).application(prefix).withoutHousekeeping();
        LockService service = more.apply(builder).build();
        opened.push(service);
        return service;
    }

    private EntityManagerFactory unit(DataSource connections) {
        LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
        factory.setPersistenceUnitName(prefix);
        factory.setPersistenceProviderClass(HibernatePersistenceProvider.class);
        factory.setMappingResources("META-INF/holdfast-orm.xml");
        factory.setDataSource(connections);
        factory.setJpaPropertyMap(properties);
        factory.getJpaPropertyMap().put(LockTables.LISTENER, (Consumer<LockTables>) this::createTables);
        factory.afterPropertiesSet();
        EntityManagerFactory made = factory.getNativeEntityManagerFactory();
        opened.push(made);
        return made;
    }

    /** With the names and in the schema of the user's unit, before Hibernate may validate them. */
    private void createTables(LockTables tables) {
        createdTables.addAll(tables.on(dataSource).createIfMissing());
    }

    /** Runs the work in a transaction like the user's own. It commits only while the thread holds its locks. */
    void inTransaction(Consumer<EntityManager> work) {
        transaction.executeWithoutResult(status -> work.accept(entityManager()));
    }

    private SessionFactory sessions() {
        return unit.unwrap(SessionFactory.class);
    }

    private EntityManager entityManager() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    /** Runs the work in such a transaction, and rolls it back. */
    boolean inRolledBackTransaction(Predicate<EntityManager> work) {
        return Objects.requireNonNull(transaction.execute(status -> {
            status.setRollbackOnly();
            return work.test(entityManager());
        }));
    }

    /** Returns a lock's row, even if its lease has expired. */
    Optional<LockEntity> row(String name) {
        return sessions().fromTransaction(em -> Optional.ofNullable(em.find(LockEntity.class, name)));
    }

    /** Returns how many threads wait for the locks whose names begin like this, as far as other services can see. */
    long waiters(String name) {
        return sessions()
                .fromTransaction(em -> em.createQuery(
                                "select count(*) from HoldfastWaiter w where w.name like :name", Long.class)
                        .setParameter("name", name + "%")
                        .getSingleResult());
    }

    /** Deletes a lock's row, as housekeeping does after a long time. */
    void removeRow(String name) {
        sessions()
                .inTransaction(em -> em.createMutationQuery("delete from HoldfastLock where name = :name")
                        .setParameter("name", name)
                        .executeUpdate());
    }

    /** Closes the services, and removes their rows and tables. */
    @Override
    public void close() throws Exception {
        Deque<AutoCloseable> services = new ArrayDeque<>(opened);
        services.removeIf(EntityManagerFactory.class::isInstance);
        for (AutoCloseable service : services) {
            service.close();
        }
        sessions().inTransaction(em -> {
            delete(em, "HoldfastWaiter", "name");
            delete(em, "HoldfastHolder", "name");
            delete(em, "HoldfastRun", "name");
            delete(em, "HoldfastLock", "name");
            delete(em, "HoldfastNode", "description");
        });
        closeOpened();
        dropCreatedTables();
    }

    private void delete(EntityManager em, String entity, String named) {
        em.createQuery("delete from " + entity + " where " + named + " like :prefix")
                .setParameter("prefix", prefix + "%")
                .executeUpdate();
    }

    private void dropCreatedTables() throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            for (String table : createdTables) {
                if (isEmpty(statement, table)) {
                    statement.execute("drop table " + table);
                }
            }
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
        }
    }

    /** Returns whether the table is empty. If not, another process has begun to use it. */
    private static boolean isEmpty(Statement statement, String table) throws SQLException {
        try (ResultSet row = statement.executeQuery("select count(*) from " + table)) {
            return row.next() && row.getLong(1) == 0;
        }
    }
}
