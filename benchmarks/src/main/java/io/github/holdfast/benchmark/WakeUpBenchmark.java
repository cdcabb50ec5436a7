package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;

/** Measures the benefit of wake-ups by notification for waiters, and their cost for releases. */
public final class WakeUpBenchmark {

    private static final int WARM_UP = 30;
    private static final int HAND_OVERS = 50;
    private static final int RELEASES = 3000;
    private static final int THREADS = 8;
    private static final Duration LOAD = Duration.ofSeconds(5);

    private final Database database;
    private final LockService locks;
    private final LockService others;

    private WakeUpBenchmark(Database database, LockService locks, LockService others) {
        this.database = database;
        this.locks = locks;
        this.others = others;
    }

    /**
     * Runs the benchmark, on databases that wait for the disk at each commit.
     *
     * @param arguments names of {@link TestDatabase}; all that have wake-ups if there are none
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        List<TestDatabase> all = List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL, TestDatabase.MARIADB);
        for (int turn = 0; turn < 3; turn++) {
            for (TestDatabase kind : Databases.chosen(arguments, all)) {
                on(kind, "by polling", LockServiceBuilder::withoutWakeUp);
                on(kind, "with wake-up", builder -> builder);
            }
        }
    }

    private static void on(TestDatabase kind, String label, UnaryOperator<LockServiceBuilder> settings)
            throws Exception {
        try (Database database = Databases.durable(kind)) {
            LockSchema.on(database.dataSource()).createIfMissing();
            try (HikariDataSource pool = database.pool(config -> {});
                    HikariDataSource otherPool = database.pool(config -> {});
                    EntityManagerFactory unit = HoldfastLocks.unit(pool);
                    EntityManagerFactory otherUnit = HoldfastLocks.unit(otherPool);
                    LockService locks = settings.apply(LockService.builder(unit).withoutHousekeeping())
                            .build();
                    LockService others = settings.apply(
                                    LockService.builder(otherUnit).withoutHousekeeping())
                            .build()) {
                print("%s %s, %s", database.kind().label(), database.version(), label);
                WakeUpBenchmark benchmark = new WakeUpBenchmark(database, locks, others);
                benchmark.work();
                benchmark.handOvers();
                benchmark.grantsAlone();
                benchmark.updatesAlone();
                benchmark.resignations();
                benchmark.releases("no node waits");
                benchmark.anotherNodeWaits();
                benchmark.releases("another node waits");
            }
        }
    }

    /** Inserts a node that waits for each of the locks, but never listens. */
    private void anotherNodeWaits() {
        String clock = database.kind() == TestDatabase.POSTGRESQL ? "now()" : "utc_timestamp(6)";
        String later = database.kind() == TestDatabase.POSTGRESQL
                ? clock + " + interval '1 day'"
                : clock + " + interval 1 day";
        database.execute("insert into lock_node (id, started_at, expires_at, ended, version, waits_until, bell)"
                + " values ('waiting', " + clock + ", " + later + ", false, 0, " + later + ", 4711)");
        database.execute("insert into lock_waiter (name, since, id, node_id, mode, permits, fair)"
                + " select name, 1, 'waiter', 'waiting', 'X', 1, false from distributed_lock");
    }

    /** Services that have just started run slowly. */
    private void work() {
        for (int cycle = 0; cycle < RELEASES; cycle++) {
            locks.tryAcquire(LockRequest.of("warm-up")).orElseThrow().release();
            others.tryAcquire(LockRequest.of("warm-up")).orElseThrow().release();
        }
    }

    private void handOvers() throws Exception {
        Latencies sinceCall = new Latencies();
        Latencies sinceReturn = new Latencies();
        for (int round = -WARM_UP; round < HAND_OVERS; round++) {
            LockHandle held = others.acquire(LockRequest.of("hot"));
            CompletableFuture<Long> granted = CompletableFuture.supplyAsync(this::waitForIt);
            rest();
            long called = System.nanoTime();
            held.release();
            long returned = System.nanoTime();
            long grantedAt = granted.get();
            if (round >= 0) {
                sinceCall.add(grantedAt - called);
                sinceReturn.add(grantedAt - returned);
            }
        }
        print("  from the call of a release to the next grant  %s", sinceCall);
        print("  from its return                               %s", sinceReturn);
    }

    /** The part of a hand-over that is not waking: the write of the grant and its commit, by a process that has rested for as long. */
    private void grantsAlone() throws Exception {
        Latencies latencies = new Latencies();
        for (int round = -WARM_UP; round < HAND_OVERS; round++) {
            rest();
            long called = System.nanoTime();
            LockHandle held = locks.tryAcquire(LockRequest.of("alone")).orElseThrow();
            long granted = System.nanoTime();
            held.release();
            if (round >= 0) {
                latencies.add(granted - called);
            }
        }
        print("  a grant that no thread has waited for         %s", latencies);
    }

    private void resignations() throws Exception {
        ElectionRequest request = ElectionRequest.of("leader").retryAfterEnd(Duration.ofMillis(50));
        BlockingQueue<Long> granted = new LinkedBlockingQueue<>();
        Latencies latencies = new Latencies();
        try (LeaderElection one = locks.election(request);
                LeaderElection other = others.election(request)) {
            one.start(tellingOf(granted));
            other.start(tellingOf(granted));
            granted.take();
            for (int round = -WARM_UP; round < HAND_OVERS; round++) {
                rest();
                long called = System.nanoTime();
                (one.isLeader() ? one : other).resign();
                long grantedAt = granted.take();
                if (round >= 0) {
                    latencies.add(grantedAt - called);
                }
            }
        }
        print("  from a resignation to the next leader         %s", latencies);
    }

    private static LeaderCallbacks tellingOf(BlockingQueue<Long> granted) {
        return new LeaderCallbacks() {
            @Override
            public void onGranted(Leadership leadership) {
                granted.add(System.nanoTime());
            }

            @Override
            public void onRevoked(Leadership leadership, RevocationCause cause) {}
        };
    }

    /** What no hand-over can do without: one update by a statement of its own, after the same rest. */
    private void updatesAlone() throws Exception {
        Latencies latencies = new Latencies();
        database.execute("create table floor_row (id int primary key, n int)", "insert into floor_row values (1, 0)");
        try (Connection connection = database.dataSource().getConnection();
                PreparedStatement update = connection.prepareStatement("update floor_row set n = n + 1 where id = 1")) {
            for (int round = -WARM_UP; round < HAND_OVERS; round++) {
                rest();
                long called = System.nanoTime();
                update.executeUpdate();
                if (round >= 0) {
                    latencies.add(System.nanoTime() - called);
                }
            }
        }
        print("  one update by JDBC                            %s", latencies);
    }

    private static void rest() throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(300 + ThreadLocalRandom.current().nextInt(300));
    }

    /** Returns the time of the grant. */
    private long waitForIt() {
        try (LockHandle ignored = locks.acquire(LockRequest.of("hot"))) {
            return System.nanoTime();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void releases(String when) throws Exception {
        Latencies latencies = new Latencies();
        for (int round = 0; round < RELEASES; round++) {
            LockHandle held = locks.tryAcquire(LockRequest.of("released")).orElseThrow();
            if (round < RELEASES / 3) {
                held.release();
            } else {
                latencies.measure(held::release);
            }
        }
        print("  release, %-24s %s   %,6d/s with %d threads", when, latencies, perSecond(), THREADS);
    }

    /** Returns the number of acquisitions and releases per second, with a separate name for each thread. */
    private long perSecond() throws Exception {
        AtomicInteger done = new AtomicInteger();
        long end = System.nanoTime() + LOAD.toNanos();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<?>> running = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            LockRequest own = LockRequest.of("own " + thread);
            running.add(threads.submit(() -> {
                while (System.nanoTime() - end < 0) {
                    locks.tryAcquire(own).orElseThrow().release();
                    done.incrementAndGet();
                }
            }));
        }
        for (Future<?> thread : running) {
            thread.get();
        }
        threads.shutdown();
        return done.get() / LOAD.toSeconds();
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
