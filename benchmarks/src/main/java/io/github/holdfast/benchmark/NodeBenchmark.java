package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockAdmin.HousekeepingReport;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Measures the cost of a heartbeat with 1, 1,000 and 10,000 held locks (W7). It also measures the cost of an acquisition and
 * release during a purge of 10,000 idle names. The arguments are {@link TestDatabase kinds of databases}, separated by commas; by
 * default PostgreSQL and H2.
 */
public final class NodeBenchmark {

    private static final List<TestDatabase> DEFAULT = List.of(TestDatabase.POSTGRESQL, TestDatabase.H2_MEMORY);

    /** Long enough that no heartbeat is due during the benchmark. */
    private static final Duration NODE_LEASE = Duration.ofHours(12);

    private static final int WARM_UP = 1000;
    private static final int BEATS = 600;
    private static final int ROUNDS = 2000;
    private static final List<Integer> MANY_LOCKS = List.of(1_000, 10_000);
    private static final int IDLE_NAMES = 10_000;
    private static final int PURGES = 3;

    private final Database database;
    private final LockService locks;
    private final LockService purging;

    private NodeBenchmark(Database database, LockService locks, LockService purging) {
        this.database = database;
        this.locks = locks;
        this.purging = purging;
    }

    /**
     * Runs the benchmark, on databases that wait for the disk at each commit.
     *
     * @param arguments kinds of databases; none, or {@code true} from Maven, for the default kinds
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        for (TestDatabase kind : Databases.chosen(arguments, DEFAULT)) {
            on(kind);
        }
    }

    private static void on(TestDatabase kind) throws Exception {
        try (Database database = Databases.durable(kind)) {
            LockSchema.on(database.dataSource()).createIfMissing();
            try (HikariDataSource pool = database.pool(config -> {});
                    EntityManagerFactory unit = HoldfastLocks.unit(pool);
                    LockService locks = service(unit);
                    LockService purging = service(unit)) {
                print("%s %s", kind.label(), database.version());
                NodeBenchmark benchmark = new NodeBenchmark(database, locks, purging);
                for (int many : MANY_LOCKS) {
                    benchmark.heartbeats(many);
                }
                benchmark.purges();
            }
        }
    }

    private static LockService service(EntityManagerFactory unit) {
        return LockService.builder(unit)
                .nodeLease(NODE_LEASE)
                .withoutHousekeeping()
                .build();
    }

    /** Measures both in turn, so that a change of the machine's load affects both. */
    private void heartbeats(int many) throws Exception {
        LockHandle first = acquire("one of many 0");
        measureBeats(first, new Latencies(), WARM_UP);
        Latencies withOne = new Latencies();
        Latencies withMany = new Latencies();
        for (int turn = 0; turn < 3; turn++) {
            measureBeats(first, withOne, BEATS / 3);
            List<LockHandle> others = new ArrayList<>();
            for (int lock = 1; lock < many; lock++) {
                others.add(acquire("one of many " + lock));
            }
            measureBeats(first, withMany, BEATS / 3);
            others.forEach(LockHandle::release);
        }
        first.release();
        print("  heartbeat, 1 lock held            %s", withOne);
        print("  heartbeat, %,d locks held       %s", many, withMany);
        print(
                "  ratio                             median %7.2f      p99 %8.2f",
                withMany.quantile(0.5) / withOne.quantile(0.5), withMany.quantile(0.99) / withOne.quantile(0.99));
    }

    private LockHandle acquire(String name) {
        return locks.tryAcquire(LockRequest.of(name)).orElseThrow();
    }

    private static void measureBeats(LockHandle lock, Latencies latencies, int times) throws Exception {
        for (int beat = 0; beat < times; beat++) {
            latencies.measure(() -> lock.renew(NODE_LEASE));
        }
    }

    private void purges() throws Exception {
        Latencies undisturbed = new Latencies();
        Latencies disturbed = new Latencies();
        long purgeNanos = 0;
        addIdleNames();
        for (int round = 0; round < WARM_UP; round++) {
            acquireAndRelease(round);
        }
        for (int purge = 0; purge < PURGES; purge++) {
            addIdleNames();
            for (int round = 0; round < ROUNDS / PURGES; round++) {
                int number = round;
                undisturbed.measure(() -> acquireAndRelease(number));
            }
            long start = System.nanoTime();
            CompletableFuture<HousekeepingReport> purged = CompletableFuture.supplyAsync(this::housekeep);
            for (int round = 0; !purged.isDone(); round++) {
                int number = round;
                disturbed.measure(() -> acquireAndRelease(number));
            }
            purgeNanos += System.nanoTime() - start;
            int count = purged.join().locksPurged();
            if (count != IDLE_NAMES) {
                throw new IllegalStateException("Only " + count + " names were purged");
            }
        }
        print("  acquire+release                   %s", undisturbed);
        print("  acquire+release during a purge    %s", disturbed);
        print("  purge of %,d names            %7.0f ms on average", IDLE_NAMES, purgeNanos / 1e6 / PURGES);
    }

    private void acquireAndRelease(int round) {
        acquire("busy " + round % 10).release();
    }

    private HousekeepingReport housekeep() {
        try {
            return purging.admin().housekeep();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Adds idle names, and replaces those left from the previous turn. */
    private void addIdleNames() {
        database.execute("delete from distributed_lock where name like 'idle %'");
        int batch = 1000;
        for (int from = 0; from < IDLE_NAMES; from += batch) {
            database.execute(
                    "insert into distributed_lock (name, hold_count, fencing_token, expires_at, version) values "
                            + IntStream.range(from, from + batch)
                                    .mapToObj(number ->
                                            "('idle " + number + "', 0, 1, timestamp '2020-01-01 00:00:00', 1)")
                                    .collect(Collectors.joining(", ")));
        }
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
