package io.github.holdfast.service;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What many threads cost that wait, and that each of them gets its lock. */
@Tag("long")
@OnEachDatabase
class ManyWaitersTest {

    private static final Duration SOON = ofSeconds(60);
    private static final Duration MEASURED = ofSeconds(6);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<LockHandle> held = new ArrayList<>();
    private Database database;
    private Services services;
    private CountingDataSource counting;
    private HikariDataSource pool;
    private WatchedDataSource watched;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        services = Services.on(database);
        Services.emptyTables(database);
        counting = new CountingDataSource(database.dataSource());
        pool = services.patientPoolOver(counting);
        watched = new WatchedDataSource(pool);
        mine = services.build(services.unit(watched), builder -> settings(builder.withoutHousekeeping()));
        theirs = services.build(builder -> builder.withoutHousekeeping());
    }

    /** For other settings. */
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder;
    }

    /** Whether other services wake the waiters, so that looks are rare. */
    boolean isWoken() {
        return !database.kind().isH2();
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    private List<Future<?>> waitFor(int names, int threadsPerName) throws Exception {
        List<Future<?>> waiting = new ArrayList<>();
        for (int number = 0; number < names; number++) {
            LockRequest request = LockRequest.of("lock " + number);
            held.add(theirs.acquire(request));
            for (int thread = 0; thread < threadsPerName; thread++) {
                waiting.add(threads.submit(() -> {
                    mine.acquire(request.waitAtMost(ofMinutes(5))).close();
                    return null;
                }));
            }
        }
        await().atMost(SOON).until(() -> waiterRows() == names);
        // Each thread attempts once more after others can see it. Until then, it may need a connection.
        await().atMost(SOON).until(() -> {
            counting.reset();
            await().during(ofSeconds(1)).atMost(SOON).until(() -> true);
            return counting.statements() <= 30;
        });
        return waiting;
    }

    private long waiterRows() {
        return database.queryForLong("select count(*) from lock_waiter");
    }

    /** Statements per second while the threads wait, with at most two connections. */
    private double statementsPerSecond() {
        int unused = watched.mostInUse();
        counting.reset();
        long start = System.nanoTime();
        await().pollInterval(ofSeconds(1)).atMost(SOON).until(() -> System.nanoTime() - start >= MEASURED.toNanos());
        double seconds = (System.nanoTime() - start) / 1e9;
        double rate = counting.statements() / seconds;
        // A look, and a connection that listens. A heartbeat may use a third one.
        assertThat(watched.mostInUse()).as("connections").isLessThanOrEqualTo(3);
        System.out.printf("%s: %.1f statements/s%n", database.kind(), rate);
        return rate;
    }

    private void release(List<Future<?>> waiting) throws Exception {
        held.forEach(LockHandle::release);
        for (Future<?> waiter : waiting) {
            waiter.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
        // One statement for each, one after the other.
        await().atMost(ofMinutes(5))
                .untilAsserted(() -> assertThat(waiterRows()).isZero());
    }

    @Test
    void fiveHundredThreadsThatWaitForFiveHundredLocksCostNoMoreThanAFew() throws Exception {
        List<Future<?>> waiting = waitFor(500, 1);
        assertThat(statementsPerSecond()).isLessThanOrEqualTo(isWoken() ? 10 : 30);
        release(waiting);
    }

    @Test
    void fiftyThreadsThatWaitForOneLockCostNoMoreThanOne() throws Exception {
        List<Future<?>> waiting = waitFor(1, 50);
        assertThat(statementsPerSecond()).isLessThanOrEqualTo(isWoken() ? 5 : 30);
        release(waiting);
    }
}
