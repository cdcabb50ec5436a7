package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import jakarta.persistence.EntityManagerFactory;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** Holdfast, with locks that last as long as their node. */
public final class HoldfastLocks implements Contestant {

    private final EntityManagerFactory unit;
    private final LockService locks;
    private final Function<String, LockRequest> requests;

    HoldfastLocks(HikariDataSource pool, Function<String, LockRequest> requests) {
        this(pool, requests, builder -> builder);
    }

    /**
     * Opens a service.
     *
     * @param requests returns the request for a lock
     */
    HoldfastLocks(
            HikariDataSource pool, Function<String, LockRequest> requests, UnaryOperator<LockServiceBuilder> settings) {
        this.requests = requests;
        unit = unit(pool);
        locks = settings.apply(LockService.builder(unit).withoutHousekeeping()).build();
    }

    /** Opens a persistence unit that contains only locks. */
    public static EntityManagerFactory unit(HikariDataSource pool) {
        return new HibernatePersistenceConfiguration("benchmark")
                .mappingFile("META-INF/holdfast-orm.xml")
                .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                .createEntityManagerFactory();
    }

    public static void createTables(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
    }

    @Override
    public Held acquire(String name) throws InterruptedException, TimeoutException {
        try {
            LockHandle handle = locks.acquire(requests.apply(name));
            return handle::release;
        } catch (LockNotAcquiredException refused) {
            throw (TimeoutException) new TimeoutException().initCause(refused);
        }
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
    }
}
