package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.store.PersistenceUnit;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.process.JavaProcessBuilder;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;

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

    /**
     * Arguments: URL, user, password, then {@code count name times}, {@code hold name millis times} or {@code turns name
     * threads millis}, which begins and ends with a line on the standard input.
     */
    public static void main(String[] args) throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        CountDownLatch stop = new CountDownLatch(2);
        JavaProcess.commands(line -> {
            go.countDown();
            stop.countDown();
        });
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setPassword(args[2]);
        config.setMaximumPoolSize(5);
        config.setMinimumIdle(2);
        try (HikariDataSource dataSource = new HikariDataSource(config);
                EntityManagerFactory unit = PersistenceUnit.directlyOn(dataSource, Map.of());
                LockService locks = LockService.builder(unit).build()) {
            String[] command = Arrays.copyOfRange(args, 3, args.length);
            switch (command[0]) {
                case "count" -> count(locks, dataSource, command[1], Integer.parseInt(command[2]));
                case "hold" -> hold(locks, command[1], Long.parseLong(command[2]), Integer.parseInt(command[3]));
                case "turns" ->
                    turns(
                            locks,
                            go,
                            stop,
                            LockRequest.of(command[1]),
                            Integer.parseInt(command[2]),
                            ofMillis(Long.parseLong(command[3])));
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

    /** Threads take turns from the first line of the parent to the second. Then this process prints the grants of each thread. */
    private static void turns(
            LockService locks, CountDownLatch go, CountDownLatch stop, LockRequest request, int threads, Duration each)
            throws Exception {
        warmUp(locks);
        System.out.println("ready");
        go.await();
        // Daemons, so that what one of them throws ends the process and is seen.
        ExecutorService workers = Executors.newFixedThreadPool(threads, Daemons.named("turns"));
        List<Future<List<Long>>> turns = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            turns.add(workers.submit(() -> tokens(locks, request.waitAtMost(ofMinutes(3)), stop, each)));
        }
        for (Future<List<Long>> ofThread : turns) {
            System.out.println(
                    "turns " + ofThread.get().stream().map(String::valueOf).collect(Collectors.joining(" ")));
        }
        workers.shutdown();
    }

    /** Whoever is slow at first loses races, and stays slow. */
    private static void warmUp(LockService locks) throws Exception {
        for (int round = 0; round < 300; round++) {
            locks.acquire(LockRequest.of("own " + ProcessHandle.current().pid()))
                    .close();
        }
    }

    private static List<Long> tokens(LockService locks, LockRequest request, CountDownLatch stop, Duration each)
            throws Exception {
        List<Long> tokens = new ArrayList<>();
        while (stop.getCount() > 0) {
            try (LockHandle lock = locks.acquire(request)) {
                tokens.add(lock.fencingToken());
                LockSupport.parkNanos(each.toNanos());
            }
        }
        return tokens;
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
