package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockHandle;
import io.github.holdfast.service.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * W6 and W8: what a nested acquisition costs, and what acquisitions cost as the table grows to a million names. The arguments are
 * {@link TestDatabase kinds of databases}, separated by commas.
 */
public final class GrowthBenchmark {

    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL, TestDatabase.H2_MEMORY);

    private static final List<Integer> NAMES = List.of(1_000, 30_000, 1_000_000);
    private static final int BATCH = 1_000;
    private static final int WARM_UP = 2_000;
    private static final int TIMES = 2_000;

    /** A prime, so that the names come without repetition, and far from each other. */
    private static final int STEP = 7_919;

    private final Database database;
    private final EntityManagerFactory unit;
    private final LockService locks;

    private GrowthBenchmark(Database database, EntityManagerFactory unit, LockService locks) {
        this.database = database;
        this.unit = unit;
        this.locks = locks;
    }

    /**
     * Runs it, on databases that wait for the disk with each commit.
     *
     * @param arguments kinds of databases; none, or {@code true} as Maven gives it, for the default
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        System.setProperty("holdfast.test.durable", "true");
        for (TestDatabase kind : Databases.chosen(arguments, DEFAULT)) {
            on(kind);
        }
    }

    private static void on(TestDatabase kind) throws Exception {
        try (Database database = kind.create()) {
            LockSchema.on(database.dataSource()).createIfMissing();
            try (HikariDataSource pool = database.pool(config -> {});
                    EntityManagerFactory unit = HoldfastLocks.unit(pool);
                    LockService locks = service(unit)) {
                print("%s %s", kind.label(), database.version());
                GrowthBenchmark benchmark = new GrowthBenchmark(database, unit, locks);
                benchmark.reentry();
                benchmark.names();
            }
        }
    }

    private static LockService service(EntityManagerFactory unit) {
        return LockService.builder(unit).withoutHousekeeping().build();
    }

    private void reentry() throws Exception {
        Latencies outermost = new Latencies();
        Latencies nested = new Latencies();
        LockHandle outer = acquire(locks, "nested");
        for (int time = 0; time < WARM_UP; time++) {
            acquire(locks, "nested").release();
            acquire(locks, "outermost").release();
        }
        for (int time = 0; time < TIMES; time++) {
            nested.measure(() -> acquire(locks, "nested").release());
            outermost.measure(() -> acquire(locks, "outermost").release());
        }
        outer.release();
        print("  W6 acquire and release, outermost     %s", outermost);
        print("  W6 acquire and release, nested        %s", nested);
    }

    private void names() throws Exception {
        int present = 0;
        for (int names : NAMES) {
            for (; present < names; present += BATCH) {
                insert(present);
            }
            measureNames(names, new Latencies(), new Latencies());
            Latencies known = new Latencies();
            Latencies strange = new Latencies();
            measureNames(names, known, strange);
            print("  W8 acquire and release, %,9d names: the same one     %s", names, known);
            print("  W8 acquire and release, %,9d names: another's, each  %s", names, strange);
        }
    }

    /** @param strange of names that the service does not remember: another process had each of them last */
    private void measureNames(int names, Latencies known, Latencies strange) throws Exception {
        try (LockService another = service(unit)) {
            for (int time = 0; time < NAMES.get(0); time++) {
                String name = name((int) ((long) time * STEP % names));
                strange.measure(() -> acquire(another, name).release());
                known.measure(() -> acquire(locks, "known").release());
            }
        }
    }

    private static LockHandle acquire(LockService by, String name) {
        return by.tryAcquire(LockRequest.of(name)).orElseThrow();
    }

    private static String name(int number) {
        return "order:" + number;
    }

    private void insert(int from) {
        database.execute("insert into distributed_lock (name, hold_count, fencing_token, expires_at, version) values "
                + IntStream.range(from, from + BATCH)
                        .mapToObj(number -> "('" + name(number) + "', 0, 1, timestamp '2020-01-01 00:00:00', 1)")
                        .collect(Collectors.joining(", ")));
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
