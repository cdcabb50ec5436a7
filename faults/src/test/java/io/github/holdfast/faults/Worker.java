package io.github.holdfast.faults;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;

/**
 * A process with one lock service and two threads that use it, until it is told to {@code stop}: then they give back what they hold,
 * and the service lives on.
 */
final class Worker {

    private static final int THREADS = 2;

    private static volatile boolean isStopped;

    private Worker() {}

    static boolean isStopped() {
        return isStopped;
    }

    /**
     * Arguments: URL, user, password, number, seed, the node's lease and how far the clock is ahead in milliseconds, the file for the
     * history, and the machine's wall clock when its monotonic clock was zero, in nanoseconds.
     */
    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, failed) -> {
            failed.printStackTrace();
            Runtime.getRuntime().halt(3);
        });
        JavaProcess.commands(line -> isStopped = true);
        Duration nodeLease = Duration.ofMillis(Long.parseLong(args[5]));
        HikariDataSource pool = started(() -> pool(args));
        EntityManagerFactory unit = started(() -> Units.on(pool));
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        LockService locks = started(() -> LockService.builder(unit)
                .transactionManager(manager)
                .nodeLease(nodeLease)
                .withoutHousekeeping()
                .build());
        Duration ahead = Duration.ofMillis(Long.parseLong(args[6]));
        Recorder recorder = new Recorder(
                Integer.parseInt(args[3]),
                ahead.isZero() ? ahead : monotonicAhead(ahead, Long.parseLong(args[8])),
                Path.of(args[7]));
        Random random = new Random(Long.parseLong(args[4]));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Random ofThread = new Random(random.nextLong());
            Client client = new Client(locks, unit, manager, pool, recorder, nodeLease, ofThread);
            threads.add(new Thread(client::work, "client-" + i));
        }
        System.out.println("ready");
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("stopped");
        Thread.currentThread().join();
    }

    /**
     * How far the monotonic clock is ahead of the machine's. A wrong clock may have another origin too; the wall clock tells where
     * the machine's is.
     */
    private static Duration monotonicAhead(Duration wallAhead, long origin) {
        long machine = Fleet.wallNanos() - wallAhead.toNanos() - origin;
        return Duration.ofNanos(System.nanoTime() - machine);
    }

    /** It may be started while the database is away. */
    private static <T> T started(Supplier<T> step) {
        while (true) {
            try {
                return step.get();
            } catch (RuntimeException failed) {
                System.out.println("not started yet: " + failed);
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
            }
        }
    }

    private static HikariDataSource pool(String[] args) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(8);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(1000);
        config.setValidationTimeout(500);
        config.setInitializationFailTimeout(2000);
        return new HikariDataSource(config);
    }
}
