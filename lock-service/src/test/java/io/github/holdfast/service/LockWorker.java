package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.JavaProcess;
import io.github.holdfast.test.JavaProcessBuilder;
import jakarta.persistence.EntityManagerFactory;
import java.util.Arrays;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** A process that takes locks, to be killed or to have a clock of its own. */
final class LockWorker {

    private LockWorker() {}

    static JavaProcess start(Database database, String... command) {
        return prepare(database, command).start();
    }

    static JavaProcessBuilder prepare(Database database, String... command) {
        return JavaProcess.of(LockWorker.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(database.url(), database.user(), database.password())
                .args(command);
    }

    /** Arguments: URL, user, password, then {@code count name times} or {@code hold name millis times}. */
    public static void main(String[] args) throws Exception {
        JavaProcess.exitWithParent();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(2);
        try (HikariDataSource dataSource = new HikariDataSource(config);
                EntityManagerFactory unit = new HibernatePersistenceConfiguration("worker")
                        .managedClass(LockEntity.class)
                        .managedClass(LockNode.class)
                        .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, dataSource)
                        .createEntityManagerFactory();
                LockService locks = LockService.builder(unit).build()) {
            String[] command = Arrays.copyOfRange(args, 3, args.length);
            switch (command[0]) {
                case "count" -> count(locks, dataSource, command[1], Integer.parseInt(command[2]));
                case "hold" -> hold(locks, command[1], Long.parseLong(command[2]), Integer.parseInt(command[3]));
                default -> throw new IllegalArgumentException(command[0]);
            }
        }
        // The thread that watches the parent would not keep the JVM, but its halt must not change the status.
        Runtime.getRuntime().halt(0);
    }

    private static void count(LockService locks, HikariDataSource dataSource, String name, int times) throws Exception {
        LockRequest request = LockRequest.of(name).lease(ofSeconds(60)).waitAtMost(ofSeconds(120));
        for (int round = 0; round < times; round++) {
            try (LockHandle lock = locks.acquire(request)) {
                Counter.increment(dataSource);
            }
        }
    }

    private static void hold(LockService locks, String name, long leaseMillis, int times) throws Exception {
        LockRequest request = LockRequest.of(name).lease(ofMillis(leaseMillis)).waitAtMost(ofSeconds(60));
        LockHandle lock = locks.acquire(request);
        for (int nested = 1; nested < times; nested++) {
            lock = locks.acquire(request);
        }
        System.out.println("holding " + lock.fencingToken() + " " + lock.holdCount());
        Thread.currentThread().join();
    }
}
