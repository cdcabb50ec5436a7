package io.github.holdfast.benchmark.contestant;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.Optional;

/** Holdfast, with shared and exclusive requests for one name. */
public final class HoldfastReadWrite implements ReadWrite {

    private static final LockRequest EXCLUSIVE = LockRequest.of("shared");
    private static final LockRequest SHARED = EXCLUSIVE.shared();

    private final HikariDataSource pool;
    private final EntityManagerFactory unit;
    private final LockService locks;

    private HoldfastReadWrite(Database database) {
        pool = database.pool(config -> config.setMinimumIdle(config.getMaximumPoolSize()));
        unit = HoldfastLocks.unit(pool);
        locks = LockService.builder(unit).withoutHousekeeping().build();
    }

    /** Opens services on a database that waits for the disk at each commit. */
    public static ReadWriteServices on(TestDatabase kind, int services) throws Exception {
        Database database = Databases.durable(kind);
        HoldfastLocks.createTables(database);
        String label = "Holdfast, " + kind.label() + " " + database.version();
        return ReadWriteServices.on(database, label, services, () -> new HoldfastReadWrite(database));
    }

    @Override
    public Optional<Contestant.Held> acquire(LockMode mode, Duration atMost) throws InterruptedException {
        LockRequest request = mode == LockMode.SHARED ? SHARED : EXCLUSIVE;
        try {
            LockHandle handle = locks.acquire(request.waitAtMost(atMost));
            return Optional.of(handle::release);
        } catch (LockNotAcquiredException refused) {
            return Optional.empty();
        }
    }

    @Override
    public void close() {
        locks.close();
        unit.close();
        pool.close();
    }
}
