package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** What a handle of a held lock costs: what it knows by itself, without a statement. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
public class HandleBenchmark {

    /** A lock that is held, with a lease and without one. */
    @State(Scope.Benchmark)
    public static class Held {
        private final HikariDataSource pool = new HikariDataSource(config());
        private final EntityManagerFactory unit = unit();
        private final LockService locks =
                LockService.builder(unit).withoutHousekeeping().build();
        final LockHandle byNode = acquire(LockRequest.of("by node"));
        final LockHandle byLease = acquire(LockRequest.of("by lease").lease(Duration.ofHours(1)));

        private static HikariConfig config() {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl("jdbc:h2:mem:in-process;DB_CLOSE_DELAY=-1");
            return config;
        }

        private EntityManagerFactory unit() {
            LockSchema.on(pool).createIfMissing();
            return new HibernatePersistenceConfiguration("benchmark")
                    .mappingFile("META-INF/holdfast-orm.xml")
                    .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                    .createEntityManagerFactory();
        }

        private LockHandle acquire(LockRequest request) {
            return locks.tryAcquire(request).orElseThrow();
        }

        /** Gives back what it has. */
        @TearDown
        public void close() {
            byNode.close();
            byLease.close();
            locks.close();
            unit.close();
            pool.close();
        }
    }

    /** Whether a lock without a lease stands. */
    @Benchmark
    public LockState stateByNode(Held held) {
        return held.byNode.state();
    }

    /** Whether a lock with a lease stands. */
    @Benchmark
    public LockState stateByLease(Held held) {
        return held.byLease.state();
    }

    /** How long a lock with a lease lasts. */
    @Benchmark
    public Duration remaining(Held held) {
        return held.byLease.remaining();
    }

    /** A lock lasts long enough, so nothing is written. */
    @Benchmark
    public void ensureValidFor(Held held) {
        held.byLease.ensureValidFor(Duration.ofSeconds(1));
    }
}
