package io.github.holdfast.contract;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.FaultyDataSource;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayDeque;
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
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.springframework.orm.jpa.EntityManagerFactoryUtils;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * The user's database: services on it, and afterwards none of the rows that they have written, nor of the tables that were not
 * there before. All names begin with a {@linkplain #name prefix} that no other run has.
 */
final class DatabaseUnderTest implements AutoCloseable {

    private final String prefix =
            "holdfast contract " + UUID.randomUUID().toString().substring(0, 8);
    private final DataSource dataSource;
    private final Map<String, String> properties;
    private final UnaryOperator<LockServiceBuilder> settings;
    private final List<String> createdTables;
    private final Deque<AutoCloseable> opened = new ArrayDeque<>();
    private final EntityManagerFactory unit;
    private final TransactionTemplate transaction;
    private final LockService fenced;

    DatabaseUnderTest(
            DataSource dataSource, Map<String, String> properties, UnaryOperator<LockServiceBuilder> settings) {
        this.dataSource = dataSource;
        this.properties = properties;
        this.settings = settings;
        createdTables = LockSchema.on(dataSource).createIfMissing();
        unit = unit(dataSource);
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        transaction = new TransactionTemplate(manager);
        fenced = service(unit, builder -> builder.transactionManager(manager));
    }

    /** The name of a lock, or of another row that the contract writes. */
    String name(String what) {
        return prefix + " " + what;
    }

    /** The service that fences {@link #inTransaction transactions}. */
    LockService fenced() {
        return fenced;
    }

    /** Another service, with a persistence unit of its own, as if in another process. */
    LockService open() {
        return service(unit(dataSource), builder -> builder);
    }

    /** Another service, on connections that break. */
    LockService open(FaultyDataSource faults, UnaryOperator<LockServiceBuilder> more) {
        return service(unit(faults), builder -> more.apply(builder.lockDataSource(faults)));
    }

    /** The same database, through connections that can be broken. */
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
        HibernatePersistenceConfiguration configuration = new HibernatePersistenceConfiguration(prefix)
                .mappingFile("META-INF/holdfast-orm.xml")
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, connections);
        configuration.properties(properties);
        EntityManagerFactory made = configuration.createEntityManagerFactory();
        opened.push(made);
        return made;
    }

    /** Does the work in a transaction of the user's kind, which commits only as long as the thread's locks stand. */
    void inTransaction(Consumer<EntityManager> work) {
        transaction.executeWithoutResult(status -> work.accept(entityManager()));
    }

    private EntityManager entityManager() {
        return Objects.requireNonNull(EntityManagerFactoryUtils.getTransactionalEntityManager(unit));
    }

    /** Does the work in such a transaction, and rolls it back. */
    boolean inRolledBackTransaction(Predicate<EntityManager> work) {
        return Objects.requireNonNull(transaction.execute(status -> {
            status.setRollbackOnly();
            return work.test(entityManager());
        }));
    }

    /** How a lock's row stands, whether its lease is over or not. */
    Optional<LockEntity> row(String name) {
        return unit.callInTransaction(em -> Optional.ofNullable(em.find(LockEntity.class, name)));
    }

    /** Removes a lock's row, as housekeeping does after a long time. */
    void removeRow(String name) {
        unit.runInTransaction(em -> em.createQuery("delete from HoldfastLock where name = :name")
                .setParameter("name", name)
                .executeUpdate());
    }

    /** Closes the services and removes whatever they have left. */
    @Override
    public void close() throws Exception {
        Deque<AutoCloseable> services = new ArrayDeque<>(opened);
        services.removeIf(EntityManagerFactory.class::isInstance);
        for (AutoCloseable service : services) {
            service.close();
        }
        unit.runInTransaction(em -> {
            delete(em, LockRun.class, "name");
            delete(em, LockEntity.class, "name");
            delete(em, LockNode.class, "description");
        });
        while (!opened.isEmpty()) {
            opened.pop().close();
        }
        dropCreatedTables();
    }

    private void delete(EntityManager em, Class<?> entity, String named) {
        em.createQuery("delete from " + entity.getName() + " where " + named + " like :prefix")
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

    /** Somebody else may use it by now. */
    private static boolean isEmpty(Statement statement, String table) throws SQLException {
        try (ResultSet row = statement.executeQuery("select count(*) from " + table)) {
            return row.next() && row.getLong(1) == 0;
        }
    }
}
