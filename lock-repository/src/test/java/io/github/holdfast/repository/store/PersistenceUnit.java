package io.github.holdfast.repository.store;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.hibernate.jpa.HibernatePersistenceProvider;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;

/**
 * A persistence unit of nothing but locks. To build one takes longer than most tests, and to open a store on it longer than many, so when
 * it is closed another test may have both.
 */
public final class PersistenceUnit implements AutoCloseable {

    private record Kind(TestDatabase database, Map<String, String> properties) {}

    /** As many as a test uses at once, on each database. */
    private static final int IDLE = 4;

    private static final Map<Kind, Deque<PersistenceUnit>> CLOSED = new HashMap<>();

    private final Kind kind;
    private final DelegatingDataSource connections;
    private final EntityManagerFactory factory;
    private @Nullable LockStore store;

    private PersistenceUnit(Kind kind, DelegatingDataSource connections) {
        this.kind = kind;
        this.connections = connections;
        this.factory = directlyOn(connections, kind.properties());
    }

    /** One that has this data source itself, and that nobody else gets. */
    public static EntityManagerFactory directlyOn(DataSource dataSource, Map<String, ?> properties) {
        return of(dataSource, properties, LockEntity.ENTITIES.toArray(Class<?>[]::new));
    }

    /** As {@link #directlyOn}, with other entities. By Spring, which has the same API for Hibernate 6 and 7. */
    public static EntityManagerFactory of(DataSource dataSource, Map<String, ?> properties, Class<?>... entities) {
        LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
        factory.setPersistenceUnitName("locks");
        factory.setPersistenceProviderClass(HibernatePersistenceProvider.class);
        factory.setManagedTypes(PersistenceManagedTypes.of(
                Stream.of(entities).map(Class::getName).toArray(String[]::new)));
        factory.setDataSource(dataSource);
        factory.setJpaPropertyMap(properties);
        factory.afterPropertiesSet();
        return factory.getNativeEntityManagerFactory();
    }

    public static PersistenceUnit on(TestDatabase database, DataSource dataSource, Map<String, String> properties) {
        Kind kind = new Kind(database, properties);
        synchronized (CLOSED) {
            PersistenceUnit closed = idle(kind).poll();
            if (closed != null) {
                closed.connections.setTargetDataSource(dataSource);
                return closed;
            }
        }
        return new PersistenceUnit(kind, new DelegatingDataSource(dataSource));
    }

    private static Deque<PersistenceUnit> idle(Kind kind) {
        return CLOSED.computeIfAbsent(kind, first -> new ArrayDeque<>());
    }

    public EntityManagerFactory factory() {
        return factory;
    }

    /** Opened, and checked, when it is asked for first. */
    public synchronized LockStore store() {
        if (store == null) {
            store = LockStore.open(factory);
        }
        return store;
    }

    /** Whoever still asks it for a connection fails. Others that are idle are used again before it. */
    @Override
    public void close() {
        synchronized (CLOSED) {
            if (factory.isOpen() && idle(kind).size() < IDLE) {
                connections.setTargetDataSource(null);
                idle(kind).add(this);
                return;
            }
        }
        factory.close();
    }
}
