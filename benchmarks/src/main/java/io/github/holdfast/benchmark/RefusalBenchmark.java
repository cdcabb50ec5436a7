package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;

/**
 * Measures the processor time of the thread whose {@code tryAcquire} is refused, compared with that of a raw query for the same
 * columns. Both take turns.
 */
public final class RefusalBenchmark {

    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL, TestDatabase.H2_MEMORY);
    private static final Duration WARM_UP = Duration.ofSeconds(5);
    private static final Duration TURN = Duration.ofMillis(250);
    private static final int ROUNDS = 40;
    private static final String HELD = "held by another";

    private RefusalBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments kinds of databases; none, or {@code true} from Maven, for all four
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        System.out.printf("| | raw query, in us | refused tryAcquire | ratio |%n|---|---|---|---|%n");
        for (TestDatabase kind : Databases.chosen(arguments, DEFAULT)) {
            on(kind);
        }
    }

    private static void on(TestDatabase kind) throws Exception {
        try (Database database = Databases.durable(kind)) {
            HoldfastLocks.createTables(database);
            try (HikariDataSource pool = database.pool(config -> {});
                    EntityManagerFactory unit = HoldfastLocks.unit(pool);
                    LockService holding = LockService.builder(unit).build();
                    LockService refused = LockService.builder(unit).build()) {
                LockHandle held = holding.acquire(LockRequest.of(HELD));
                LockRequest request = LockRequest.of(HELD);
                Callable<Boolean> raw = () -> isHeld(pool);
                Callable<Boolean> ours = () -> refused.tryAcquire(request).isEmpty();
                Cost warmUp = new Cost();
                warmUp.add(raw, WARM_UP);
                warmUp.add(ours, WARM_UP);
                Cost ofRaw = new Cost();
                Cost ofOurs = new Cost();
                for (int round = 0; round < ROUNDS; round++) {
                    ofRaw.add(raw, TURN);
                    ofOurs.add(ours, TURN);
                }
                held.release();
                System.out.printf(
                        Locale.ROOT,
                        "| %s | %.1f | %.1f | %.2f |%n",
                        kind.label(),
                        ofRaw.micros(),
                        ofOurs.micros(),
                        ofOurs.micros() / ofRaw.micros());
            }
        }
    }

    private static boolean isHeld(HikariDataSource pool) throws SQLException {
        String sql = "select l.*, n.*, current_timestamp(6) from distributed_lock l"
                + " left join lock_node n on n.id = l.node_id where l.name = ?";
        try (Connection connection = pool.getConnection();
                PreparedStatement query = connection.prepareStatement(sql)) {
            query.setString(1, HELD);
            try (ResultSet found = query.executeQuery()) {
                boolean isHeld = false;
                while (found.next()) {
                    int columns = found.getMetaData().getColumnCount();
                    for (int column = 1; column <= columns; column++) {
                        Object unused = found.getObject(column);
                    }
                    isHeld = found.getString("owner") != null;
                }
                return isHeld;
            }
        }
    }

    /** The processor time of this thread for a number of calls. */
    private static final class Cost {
        private long calls;
        private long nanos;

        void add(Callable<Boolean> call, Duration time) throws Exception {
            long start = System.nanoTime();
            long before = ofThisThread();
            while (System.nanoTime() - start < time.toNanos()) {
                if (!call.call()) {
                    throw new IllegalStateException("The lock is free");
                }
                calls++;
            }
            nanos += ofThisThread() - before;
        }

        double micros() {
            return nanos * 1e-3 / calls;
        }

        private static long ofThisThread() {
            return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        }
    }
}
