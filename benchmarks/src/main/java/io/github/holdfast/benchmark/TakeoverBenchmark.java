package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;

/**
 * Measures the time from {@code kill -9} of a process to the next grant of its locks, as a share of the node lease: one lock to a waiter
 * of a running service, another one to a service that is opened after the end.
 */
public final class TakeoverBenchmark {

    private static final Duration NODE_LEASE = Duration.ofSeconds(3);
    private static final Duration LONG = Duration.ofMinutes(1);
    private static final int KILLS = 50;
    private static final String WAITED_FOR = "waited for";
    private static final String ACQUIRED_LATER = "acquired later";

    private TakeoverBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments names of {@link TestDatabase}; none, or {@code true} from Maven, for PostgreSQL and MySQL
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        for (TestDatabase kind : Databases.chosen(arguments, List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL))) {
            try (Database database = Databases.durable(kind)) {
                LockSchema.on(database.dataSource()).createIfMissing();
                on(database);
            }
        }
    }

    private static void on(Database database) throws Exception {
        Latencies running = new Latencies();
        Latencies later = new Latencies();
        try (HikariDataSource pool = database.pool(config -> {});
                EntityManagerFactory unit = HoldfastLocks.unit(pool);
                LockService waiting = open(unit)) {
            for (int kill = 0; kill < KILLS; kill++) {
                kill(database, unit, waiting, running, later);
            }
        }
        print(database, "a running service", running);
        print(database, "a service that is opened after the end", later);
    }

    private static void kill(
            Database database, EntityManagerFactory unit, LockService waiting, Latencies running, Latencies later)
            throws Exception {
        try (JavaProcess holder = JavaProcess.of(Holder.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(database.url(), database.user(), database.password())
                .start()) {
            holder.awaitLine("holds"::equals, LONG);
            CompletableFuture<Long> granted = CompletableFuture.supplyAsync(() -> granted(waiting, WAITED_FOR));
            while (!granted.isDone() && database.queryForLong("select count(*) from lock_waiter") == 0) {
                Thread.sleep(10);
            }
            // Heartbeats come every third of the lease, so the end comes at any moment between two of them.
            Thread.sleep((long) (Math.random() * NODE_LEASE.toMillis() / 3));
            long killed = System.nanoTime();
            holder.kill();
            try (LockService opened = open(unit)) {
                later.add(granted(opened, ACQUIRED_LATER) - killed);
            }
            running.add(granted.get() - killed);
        }
    }

    /** Returns when the lock was granted; it is free again then. */
    private static long granted(LockService locks, String name) {
        try {
            locks.acquire(LockRequest.of(name).waitAtMost(LONG)).release();
            return System.nanoTime();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static LockService open(EntityManagerFactory unit) {
        return LockService.builder(unit)
                .nodeLease(NODE_LEASE)
                .withoutHousekeeping()
                .build();
    }

    private static void print(Database database, String to, Latencies latencies) {
        double lease = NODE_LEASE.toMillis();
        System.out.printf(
                Locale.ROOT,
                "%s: granted to %s after %.2f node leases (median of %d; p10 %.2f, p90 %.2f)%n",
                database.kind().label(),
                to,
                latencies.quantile(0.5) / lease,
                KILLS,
                latencies.quantile(0.1) / lease,
                latencies.quantile(0.9) / lease);
    }

    /** A process that holds both locks until its end. */
    static final class Holder {

        private Holder() {}

        /** Arguments: URL, user, password. */
        public static void main(String[] arguments) throws InterruptedException {
            JavaProcess.exitWithParent();
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(arguments[0]);
            config.setUsername(arguments[1]);
            config.setPassword(arguments[2]);
            LockService locks = open(HoldfastLocks.unit(new HikariDataSource(config)));
            for (String name : List.of(WAITED_FOR, ACQUIRED_LATER)) {
                var unused = locks.acquire(LockRequest.of(name));
            }
            System.out.println("holds");
            Thread.currentThread().join();
        }
    }
}
