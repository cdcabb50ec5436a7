package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The connections of a service whose thread waits break: at the first statement or commit, at the second one, and so on. These are
 * its attempts, its place, its mark, its node, its looks, and what it listens with. The thread is served all the same, and leaves
 * nothing.
 */
@Tag("crash-point")
@OnEachDatabase
class WaiterCrashPointTest {

    private static final Duration SOON = ofSeconds(60);

    /** After these, the wait repeats itself. */
    private static final int STEPS = 17;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Database database;
    private Services services;
    private FaultyDataSource faults;
    private EntityManagerFactory unit;
    private LockService theirs;
    private Set<Thread> threadsBefore;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        threadsBefore = Services.threads();
        services = Services.on(database);
        database.execute("delete from lock_waiter");
        faults = new FaultyDataSource(database.dataSource());
        HikariDataSource pool = services.patientPoolOver(faults);
        unit = services.unit(pool);
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
    }

    @AfterEach
    void close() throws Exception {
        faults.disarm();
        threads.shutdownNow();
        services.close();
        CrashPoints.awaitNoThreadBut(threadsBefore);
    }

    @ParameterizedTest
    @CsvSource({
        "BEFORE_SEND, false",
        "AFTER_SEND, false",
        "ANSWER_LOST, false",
        "BEFORE_SEND, true",
        "AFTER_SEND, true",
        "ANSWER_LOST, true"
    })
    void whoWaitsIsServedWhateverBreaks(Fault fault, boolean isFair) throws Exception {
        List<Long> millis = new ArrayList<>();
        for (int step = 1; step <= STEPS; step++) {
            LockRequest request = LockRequest.of(fault + " " + isFair + " " + step);
            try {
                millis.add(serve(isFair ? request.fair() : request, step, fault));
            } catch (Exception | AssertionError thrown) {
                throw new AssertionError("At step " + step + ": " + thrown.getMessage(), thrown);
            }
        }
        System.out.printf(
                "%s: %s, %s: served after %d ms at most%n",
                database.kind().label(), fault, isFair ? "fair" : "not fair", Collections.max(millis));
    }

    /** Returns how long it took from the release to the grant. */
    private long serve(LockRequest request, int step, Fault fault) throws Exception {
        try (LockService mine = LockService.builder(unit).withoutHousekeeping().build()) {
            LockHandle held = theirs.acquire(LockRequest.of(request.name()));
            faults.arm(step, fault);
            Future<LockHandle> waiting = threads.submit(() -> mine.acquire(request.waitAtMost(SOON)));
            await().atMost(SOON).until(faults::fired);
            faults.disarm();
            long released = System.nanoTime();
            held.release();
            waiting.get(SOON.toSeconds(), TimeUnit.SECONDS).release();
            return Duration.ofNanos(System.nanoTime() - released).toMillis();
        } finally {
            faults.disarm();
            // A service that is closed does not wait for ever for its last statement.
            await("places that are left")
                    .atMost(SOON)
                    .until(() -> database.queryForLong("select count(*) from lock_waiter") == 0);
        }
    }
}
