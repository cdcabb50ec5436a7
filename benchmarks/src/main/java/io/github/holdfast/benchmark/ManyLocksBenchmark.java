package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.HoldfastLocks;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.DefaultTransactionDefinition;

/**
 * Measures what many locks and many waiters cost: a transaction of one thread that holds 10,000 locks, and the cycle of another
 * service while 500 threads of one service wait for 500 locks.
 */
public final class ManyLocksBenchmark {

    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL, TestDatabase.H2_MEMORY);
    private static final int LOCKS = 10_000;
    private static final int WAITERS = 500;
    private static final int TURNS = 4;
    private static final Duration TURN = Duration.ofSeconds(4);

    private final LockService locks;
    private final Database database;

    private ManyLocksBenchmark(LockService locks, Database database) {
        this.locks = locks;
        this.database = database;
    }

    /**
     * Runs the benchmark.
     *
     * @param arguments kinds of databases; none, or {@code true} from Maven, for all four
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        for (TestDatabase kind : Databases.chosen(arguments, DEFAULT)) {
            try (Database database = Databases.durable(kind)) {
                HoldfastLocks.createTables(database);
                try (HikariDataSource pool = database.pool(config -> {});
                        EntityManagerFactory unit = HoldfastLocks.unit(pool)) {
                    on(database, unit);
                }
            }
        }
    }

    private static void on(Database database, EntityManagerFactory unit) throws Exception {
        print("%s %s", database.kind().label(), database.version());
        JpaTransactionManager transactions = new JpaTransactionManager(unit);
        try (LockService locks =
                LockService.builder(unit).transactionManager(transactions).build()) {
            ManyLocksBenchmark benchmark = new ManyLocksBenchmark(locks, database);
            benchmark.waiters();
            benchmark.transaction(transactions);
        }
    }

    private void transaction(JpaTransactionManager transactions) throws InterruptedException {
        long heapBefore = usedHeap();
        List<LockHandle> held = new ArrayList<>(LOCKS);
        long start = System.nanoTime();
        TransactionStatus transaction = transactions.getTransaction(new DefaultTransactionDefinition());
        for (int number = 0; number < LOCKS; number++) {
            held.add(locks.acquire(LockRequest.of("one of many " + number)));
        }
        long acquired = System.nanoTime();
        long heap = usedHeap() - heapBefore;
        long begun = System.nanoTime();
        transactions.commit(transaction);
        long committed = System.nanoTime();
        held.forEach(LockHandle::release);
        long released = System.nanoTime();
        print(
                "  %,d locks in one transaction: %,.0f ms to acquire, %,.0f ms to commit, %,.0f ms to release, %.1f kB each",
                LOCKS,
                (acquired - start) * 1e-6,
                (committed - begun) * 1e-6,
                (released - committed) * 1e-6,
                heap / 1024.0 / LOCKS);
    }

    private static long usedHeap() {
        System.gc();
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }

    private void waiters() throws Exception {
        List<LockHandle> held = new ArrayList<>();
        for (int number = 0; number < WAITERS; number++) {
            held.add(locks.acquire(LockRequest.of("awaited " + number)));
        }
        try (HikariDataSource pool = database.pool(config -> {});
                EntityManagerFactory unit = HoldfastLocks.unit(pool);
                LockService other = LockService.builder(unit).build()) {
            Latencies unusedWarmUp = cycles(other);
            Latencies alone = new Latencies();
            Latencies beside = new Latencies();
            for (int turn = 0; turn < TURNS; turn++) {
                alone.addAll(cycles(other));
                try (Waiters waiters = new Waiters()) {
                    waiters.await();
                    beside.addAll(cycles(other));
                }
            }
            print("  acquire and release, alone                  %s", alone);
            print("  beside %d waiters of another service       %s", WAITERS, beside);
            print(
                    "  ratio                                       median %.2f",
                    beside.quantile(0.5) / alone.quantile(0.5));
        }
        held.forEach(LockHandle::release);
    }

    private static Latencies cycles(LockService service) throws Exception {
        Latencies latencies = new Latencies();
        long start = System.nanoTime();
        while (System.nanoTime() - start < TURN.toNanos()) {
            latencies.measure(() -> service.acquire(LockRequest.of("busy")).release());
        }
        return latencies;
    }

    /** Threads of one service, each of which waits for a lock of its own. */
    private final class Waiters implements AutoCloseable {

        private final HikariDataSource pool = database.pool(config -> {});
        private final EntityManagerFactory unit = HoldfastLocks.unit(pool);
        private final LockService service = LockService.builder(unit).build();
        private final List<Thread> threads = new ArrayList<>();

        Waiters() {
            for (int number = 0; number < WAITERS; number++) {
                LockRequest request = LockRequest.of("awaited " + number).waitAtMost(Duration.ofMinutes(5));
                Thread thread = new Thread(() -> {
                    try {
                        service.acquire(request).release();
                    } catch (InterruptedException ended) {
                        // The turn is over.
                    }
                });
                thread.start();
                threads.add(thread);
            }
        }

        /** Waits until each thread is announced to other services. */
        void await() throws InterruptedException {
            while (database.queryForLong("select count(*) from lock_waiter") < WAITERS) {
                Thread.sleep(50);
            }
        }

        @Override
        public void close() throws InterruptedException {
            threads.forEach(Thread::interrupt);
            for (Thread thread : threads) {
                thread.join();
            }
            service.close();
            unit.close();
            pool.close();
        }
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
