package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Measures the cost of a nested acquisition (W6), and of acquisitions in tables of a thousand to a million names (W8). The tables
 * take turns. The arguments are {@link TestDatabase kinds of databases}, separated by commas.
 */
public final class GrowthBenchmark {

    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL, TestDatabase.H2_MEMORY);

    private static final List<Integer> NAMES = List.of(1_000, 30_000, 1_000_000);
    private static final int BATCH = 1_000;
    private static final int WARM_UP = 2_000;
    private static final int TIMES = 2_000;
    private static final int WARM_UP_ROUNDS = 2;
    private static final int TURNS = 80;

    /** The acquisitions per turn. Each turn opens a new service, which remembers none of the names. */
    private static final int TIMES_IN_TURN = 50;

    /** The distance between names. It is a prime, so that no name repeats, and successive names are far apart. */
    private static final int STEP = 7_919;

    private GrowthBenchmark() {}

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
        List<Table> tables = new ArrayList<>();
        try {
            for (int names : NAMES) {
                tables.add(new Table(kind, names));
            }
            Table smallest = tables.get(0);
            print("%s %s", kind.label(), smallest.database.version());
            smallest.reentry();
            compare(tables);
            for (Table table : tables) {
                table.report("the same one", table.known, smallest.known);
                table.report("another's, each", table.strange, smallest.strange);
            }
        } finally {
            tables.forEach(Table::close);
        }
    }

    private static LockService service(EntityManagerFactory unit) {
        return LockService.builder(unit).withoutHousekeeping().build();
    }

    private static void compare(List<Table> tables) throws Exception {
        for (int round = 0; round < WARM_UP_ROUNDS; round++) {
            for (Table table : tables) {
                table.measure(new Latencies(), new Latencies(), NAMES.get(0));
            }
        }
        List<Table> order = new ArrayList<>(tables);
        Random random = new Random(2026);
        for (int turn = 0; turn < TURNS; turn++) {
            Collections.shuffle(order, random);
            for (Table table : order) {
                table.measure(table.known, table.strange, TIMES_IN_TURN);
            }
        }
    }

    private static LockHandle acquire(LockService by, String name) {
        return by.tryAcquire(LockRequest.of(name)).orElseThrow();
    }

    private static String name(int number) {
        return "order:" + number;
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }

    /** A table with a number of names, in a separate database. */
    private static final class Table implements AutoCloseable {

        private final int names;
        private final Database database;
        private final HikariDataSource pool;
        private final EntityManagerFactory unit;
        private final LockService locks;
        private final Latencies known = new Latencies();
        private final Latencies strange = new Latencies();
        private int next;

        /** @param names the number of names in the table */
        Table(TestDatabase kind, int names) {
            this.names = names;
            database = Databases.durable(kind);
            LockSchema.on(database.dataSource()).createIfMissing();
            pool = database.pool(config -> {});
            unit = HoldfastLocks.unit(pool);
            locks = service(unit);
            for (int present = 0; present < names; present += BATCH) {
                insert(present);
            }
        }

        void reentry() throws Exception {
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

        /**
         * Measures one turn.
         *
         * @param strange the latencies of names that the service does not remember, because another process held each of them
         *     last
         */
        void measure(Latencies known, Latencies strange, int times) throws Exception {
            try (LockService another = service(unit)) {
                // The first acquisition registers the node, and no other does.
                acquire(another, "its first").release();
                for (int time = 0; time < times; time++) {
                    String name = name((int) ((long) next++ * STEP % names));
                    strange.measure(() -> acquire(another, name).release());
                    known.measure(() -> acquire(locks, "known").release());
                }
            }
        }

        private void insert(int from) {
            database.execute(
                    "insert into distributed_lock (name, hold_count, fencing_token, expires_at, version) values "
                            + IntStream.range(from, from + BATCH)
                                    .mapToObj(number ->
                                            "('" + name(number) + "', 0, 1, timestamp '2020-01-01 00:00:00', 1)")
                                    .collect(Collectors.joining(", ")));
        }

        void report(String which, Latencies here, Latencies inSmallest) {
            print(
                    "  W8 acquire and release, %,9d names: %-15s  %s   %.2f of %,d names",
                    names, which, here, here.quantile(0.5) / inSmallest.quantile(0.5), NAMES.get(0));
        }

        @Override
        public void close() {
            locks.close();
            unit.close();
            pool.close();
            database.close();
        }
    }
}
