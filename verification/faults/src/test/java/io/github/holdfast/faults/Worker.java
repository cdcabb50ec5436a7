package io.github.holdfast.faults;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;

/**
 * A process with one lock service and two threads that use it. It obeys {@code interrupt}: one of the threads is interrupted; {@code
 * stop}: they give back what they hold, and the service lives on; {@code look}: what is left is looked for; and {@code close}: the
 * service is closed while they use it.
 */
final class Worker {

    /** What it says when something is wrong that no fault explains. */
    static final String DIED = "died of ";

    private static final int THREADS = 2;
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private static volatile boolean isStopped;
    private static volatile boolean isClosing;

    private final Recorder recorder;
    private final HikariDataSource pool;
    private final LockService locks;
    private final Random random;
    private final List<Thread> clients = new ArrayList<>();
    private final Leftovers leftovers;

    private Worker(String[] args) throws Exception {
        int index = Integer.parseInt(args[5]);
        pool = started(() -> pool(args, Fleet.poolSize(index)));
        EntityManagerFactory unit = started(() -> Units.on(pool));
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        LockServiceBuilder builder = LockService.builder(unit)
                .transactionManager(manager)
                .nodeLease(Fleet.NODE_LEASE)
                .lockDelay(Fleet.LOCK_DELAY)
                .maxRowLocks(THREADS);
        if (Fleet.keepsReleased(index)) {
            builder.keepReleased(Fleet.KEPT);
        }
        locks = started(
                Fleet.keepsHouse(index)
                        ? builder.housekeepingEvery(Duration.ofSeconds(1))::build
                        : builder.withoutHousekeeping()::build);
        recorder = new Recorder(Integer.parseInt(args[3]), Path.of(args[6]));
        random = new Random(Long.parseLong(args[4]));
        leftovers =
                new Leftovers(locks, pool, Set.copyOf(Thread.getAllStackTraces().keySet()));
        for (int i = 0; i < THREADS; i++) {
            Client client = new Client(locks, unit, manager, pool, recorder, new Random(random.nextLong()));
            clients.add(new Thread(client::work, "client-" + i));
        }
    }

    static boolean isStopped() {
        return isStopped;
    }

    static boolean isClosing() {
        return isClosing;
    }

    /** Arguments: URL, user, password, number, seed, place in the fleet, and the file for the history. */
    public static void main(String[] args) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, failed) -> {
            System.out.println(DIED + failed);
            failed.printStackTrace();
            Runtime.getRuntime().halt(3);
        });
        BlockingQueue<String> commands = new LinkedBlockingQueue<>();
        JavaProcess.commands(commands::add);
        Worker worker = new Worker(args);
        System.out.println("ready");
        worker.clients.forEach(Thread::start);
        while (true) {
            worker.obey(commands.take());
        }
    }

    private void obey(String command) throws InterruptedException {
        switch (command) {
            case "interrupt" -> clients.get(random.nextInt(THREADS)).interrupt();
            case "stop" -> {
                joinClients();
                System.out.println("stopped");
            }
            case "look" -> {
                report(leftovers.ofOpenService(PATIENCE));
                System.out.println("looked");
            }
            case "close" -> {
                close();
                System.out.println("closed");
            }
            default -> throw new IllegalArgumentException(command);
        }
    }

    private void close() throws InterruptedException {
        Facts all = Facts.of(Facts.ALL);
        isClosing = true;
        long close = recorder.begin(Action.CLOSE, all);
        locks.close();
        recorder.end(close, Action.CLOSE, Phase.OK, all);
        joinClients();
        report(leftovers.ofClosedService(PATIENCE));
    }

    private void joinClients() throws InterruptedException {
        isStopped = true;
        for (Thread client : clients) {
            client.join();
        }
    }

    private void report(List<String> left) {
        Facts facts = Facts.of(Facts.ALL).value(left.size()).owner(String.join("; ", left));
        recorder.end(
                recorder.begin(Action.LEFT, Facts.of(Facts.ALL)),
                Action.LEFT,
                left.isEmpty() ? Phase.OK : Phase.FAIL,
                facts);
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

    private static HikariDataSource pool(String[] args, int size) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(1);
        config.setConnectionTimeout(1000);
        config.setValidationTimeout(500);
        config.setInitializationFailTimeout(2000);
        return new HikariDataSource(config);
    }
}
