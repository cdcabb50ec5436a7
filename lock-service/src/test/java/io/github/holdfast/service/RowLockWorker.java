package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** A process that acquires one name now as a row lock and now with a lease, in transactions and outside, or is to be killed. */
final class RowLockWorker {

    /** Longer than anybody holds it. */
    private static final Duration LEASE = ofSeconds(60);

    private final LockService locks;
    private final TransactionTemplate transaction;
    private final DataSource dataSource;

    /** By how much the longest wait in vain was longer than it was allowed to be. */
    private Duration longestDelay = Duration.ZERO;

    private RowLockWorker(LockService locks, TransactionTemplate transaction, DataSource dataSource) {
        this.locks = locks;
        this.transaction = transaction;
        this.dataSource = dataSource;
    }

    static JavaProcess start(Database database, String... command) {
        return JavaProcess.of(RowLockWorker.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(database.url(), database.user(), database.password())
                .args(command)
                .start();
    }

    /** How many are in, each of whom believes to be alone. */
    static void createCount(Database database) {
        database.execute("create table inside (n bigint not null)", "insert into inside values (0)");
    }

    /** Arguments: URL, user, password, then {@code hold name}, {@code holdInTransaction name} or {@code rounds name times seed}. */
    public static void main(String[] args) throws Exception {
        JavaProcess.exitWithParent();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(5);
        try (HikariDataSource dataSource = new HikariDataSource(config);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(dataSource, Map.of())) {
            JpaTransactionManager manager = new JpaTransactionManager(unit);
            try (LockService locks =
                    LockService.builder(unit).transactionManager(manager).build()) {
                new RowLockWorker(locks, new TransactionTemplate(manager), dataSource)
                        .obey(Arrays.copyOfRange(args, 3, args.length));
            }
        }
        // The thread that watches the parent would not keep the JVM, but its halt must not change the status.
        Runtime.getRuntime().halt(0);
    }

    private void obey(String[] command) throws Exception {
        LockRequest request = LockRequest.of(command[1]);
        switch (command[0]) {
            case "hold" -> hold(request.rowLock());
            case "holdInTransaction" -> transaction.executeWithoutResult(status -> hold(request.rowLock()));
            case "rounds" -> rounds(request, Integer.parseInt(command[2]), new Random(Long.parseLong(command[3])));
            default -> throw new IllegalArgumentException(command[0]);
        }
    }

    private void hold(LockRequest request) {
        try {
            System.out.println("holding " + locks.acquire(request).state());
            Thread.currentThread().join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void rounds(LockRequest request, int times, Random random) {
        int acquired = 0;
        for (int round = 0; round < times; round++) {
            LockRequest next =
                    random.nextBoolean() ? request.rowLock() : random.nextBoolean() ? request : request.lease(LEASE);
            Duration wait = random.nextInt(4) == 0 ? null : ofMillis(random.nextInt(1500));
            boolean isIn = random.nextBoolean()
                    ? Boolean.TRUE.equals(transaction.execute(status -> {
                        boolean wasAcquired = work(next, wait);
                        if (!wasAcquired) {
                            // After a wait in vain nothing else is possible.
                            status.setRollbackOnly();
                        }
                        return wasAcquired;
                    }))
                    : work(next, wait);
            acquired += isIn ? 1 : 0;
        }
        System.out.println(
                "acquired " + acquired + " of " + times + ", longest delay " + longestDelay.toMillis() + " ms");
    }

    private boolean work(LockRequest request, @Nullable Duration wait) {
        long start = System.nanoTime();
        Optional<LockHandle> lock = acquired(request, wait);
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        if (lock.isEmpty()) {
            Duration delay = took.minus(wait == null ? Duration.ZERO : wait);
            longestDelay = delay.compareTo(longestDelay) > 0 ? delay : longestDelay;
            return false;
        }
        LockHandle held = lock.get();
        try {
            enterAndLeave();
        } catch (SQLException failed) {
            throw new IllegalStateException(failed);
        }
        ReleaseOutcome outcome = held.release();
        if (outcome != ReleaseOutcome.RELEASED && outcome != ReleaseOutcome.DEFERRED) {
            throw new IllegalStateException(request + ": " + outcome);
        }
        return true;
    }

    private Optional<LockHandle> acquired(LockRequest request, @Nullable Duration wait) {
        try {
            return wait == null ? locks.tryAcquire(request) : Optional.of(locks.acquire(request.waitAtMost(wait)));
        } catch (LockNotAcquiredException contention) {
            return Optional.empty();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** On a connection of its own, so that others see it before the transaction has ended. */
    private void enterAndLeave() throws SQLException {
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("update inside set n = n + 1");
            try (ResultSet row = statement.executeQuery("select n from inside")) {
                row.next();
                if (row.getLong(1) != 1) {
                    throw new IllegalStateException(row.getLong(1) + " are inside");
                }
            }
            statement.executeUpdate("update inside set n = n - 1");
        }
    }
}
