package io.github.holdfast.quorum;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** A client with a service on each database, as if in a process of its own. */
final class Client implements AutoCloseable {

    static final Duration NODE_LEASE = Duration.ofSeconds(10);

    /** For tests that wait until a member is lost. */
    static final Duration SHORT_NODE_LEASE = Duration.ofSeconds(5);

    private static final HealingPauses SOON = new HealingPauses(Duration.ofMillis(250), Duration.ofSeconds(1));

    private record Service(HikariDataSource pool, EntityManagerFactory unit, LockService locks) {

        void close() {
            locks.close();
            unit.close();
            pool.close();
        }
    }

    private final List<Service> services = new ArrayList<>();
    private final QuorumLocks quorum;

    private Client(
            List<Database> databases,
            List<String> urls,
            Duration nodeLease,
            UnaryOperator<QuorumLocksBuilder> settings) {
        try {
            for (int i = 0; i < databases.size(); i++) {
                services.add(service(databases.get(i), urls.get(i), nodeLease));
            }
            quorum = settings.apply(QuorumLocks.builder(members())).build();
        } catch (RuntimeException | Error thrown) {
            services.forEach(Service::close);
            throw thrown;
        }
    }

    static Client on(List<Database> databases) {
        return new Client(databases, urls(databases), NODE_LEASE, settings -> settings);
    }

    /** Asks missing members again soon. */
    static Client on(List<Database> databases, Duration nodeLease) {
        return new Client(databases, urls(databases), nodeLease, settings -> settings.healingPauses(SOON));
    }

    private static List<String> urls(List<Database> databases) {
        return databases.stream().map(Database::url).toList();
    }

    /** Reaches the databases at other addresses, and asks missing members again soon. */
    static Client at(List<String> urls, List<Database> databases, Duration memberTimeout) {
        return new Client(
                databases,
                urls,
                SHORT_NODE_LEASE,
                settings -> settings.memberTimeout(memberTimeout).healingPauses(SOON));
    }

    private static Service service(Database database, String url, Duration nodeLease) {
        LockSchema.on(database.dataSource()).createIfMissing();
        HikariDataSource pool = database.pool(config -> {
            config.setJdbcUrl(url);
            config.setConnectionTimeout(1000);
            config.setMaximumPoolSize(6);
        });
        EntityManagerFactory unit = new HibernatePersistenceConfiguration("locks")
                .managedClasses(LockEntity.ENTITIES)
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                .createEntityManagerFactory();
        return new Service(
                pool,
                unit,
                LockService.builder(unit)
                        .nodeLease(nodeLease)
                        .withoutHousekeeping()
                        .build());
    }

    QuorumLocks locks() {
        return quorum;
    }

    /** Returns the services, in the order of the databases. */
    List<LockService> members() {
        return services.stream().map(Service::locks).toList();
    }

    LockService member(int index) {
        return services.get(index).locks();
    }

    @Override
    public void close() {
        quorum.close();
        services.forEach(Service::close);
    }
}
