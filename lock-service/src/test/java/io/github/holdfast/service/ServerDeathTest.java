package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The server ends the connections of a service that holds locks, or it crashes and comes back, soon or late. */
@Tag("outage")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL}) // A server that can die.
@TestInstance(Lifecycle.PER_CLASS) // One server of its own for all tests that kill it.
class ServerDeathTest {

    private static final Duration SOON = ofSeconds(60);

    /** Longer than any server needs to start again. */
    private static final Duration LONG_LEASE = ofSeconds(30);

    /** A machine that stands still for some seconds does not end it. */
    private static final Duration SHORT_LEASE = ofSeconds(12);

    /** What a busy machine may add. */
    private static final Duration SLACK = ofSeconds(10);

    private @Nullable RestartableDatabase restartable;

    @AfterAll
    void close() {
        if (restartable != null) {
            restartable.close();
        }
    }

    private RestartableDatabase restartable(TestDatabase kind) {
        RestartableDatabase started = restartable == null ? RestartableDatabase.start(kind) : restartable;
        restartable = started;
        return started;
    }

    private static LockService service(Services services, Database database, Duration nodeLease) {
        return services.build(
                database.pool(config -> withTimeouts(config, database.kind())),
                builder -> builder.nodeLease(nodeLease));
    }

    /** As someone would set them who wants to be told when the database is away. */
    private static void withTimeouts(HikariConfig config, TestDatabase kind) {
        config.setMaximumPoolSize(3);
        config.setConnectionTimeout(5000);
        config.setValidationTimeout(2000);
        switch (kind) {
            case POSTGRESQL -> {
                config.addDataSourceProperty("connectTimeout", "5");
                config.addDataSourceProperty("socketTimeout", "15");
            }
            case MARIADB, MYSQL -> {
                config.addDataSourceProperty("connectTimeout", "5000");
                config.addDataSourceProperty("socketTimeout", "15000");
            }
            default -> {
                config.addDataSourceProperty("NETWORK_TIMEOUT", "15000");
            }
        }
    }

    private static void awaitHeartbeat(LockHandle lock) {
        long later = end(lock) + ofMillis(200).toNanos();
        await().pollInterval(ofMillis(10))
                .atMost(SOON)
                .until(() -> lock.state() == LockState.HELD && end(lock) - later > 0);
    }

    /** When it is lost without another heartbeat. */
    private static long end(LockHandle lock) {
        return System.nanoTime() + lock.remaining().toNanos();
    }

    /** With deadline: a pool may still have connections that are dead. */
    private static void assertIsSomebodyElses(LockService service, LockRequest request) {
        assertThatExceptionOfType(LockNotAcquiredException.class)
                .isThrownBy(() -> service.acquire(request.waitAtMost(ofSeconds(3))));
    }

    @Test
    void aHolderWhoseConnectionsAreKilledGoesOn(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            LockService mine = service(services, database, SHORT_LEASE);
            LockService theirs = service(services, database, SHORT_LEASE);
            Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
            LockRequest request = LockRequest.of("connections");
            LockHandle outer = mine.acquire(request).onLost(losses::add);
            for (int round = 0; round < 3; round++) {
                Sessions.killAll(database);
                awaitHeartbeat(outer);
            }
            Sessions.killAll(database);
            LockHandle inner = mine.acquire(request);
            Sessions.killAll(database);
            assertThat(theirs.acquire(LockRequest.of("other").waitAtMost(SOON)).release())
                    .isEqualTo(ReleaseOutcome.RELEASED);
            assertIsSomebodyElses(theirs, request);
            Sessions.killAll(database);
            assertThat(inner.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            Sessions.killAll(database);
            assertThat(outer.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(losses).isEmpty();
            theirs.acquire(request).close();
        }
    }

    /** A pool that trusts a connection that was in use within the last minute, not only within the usual 500 ms. */
    private static HikariDataSource trusting(Database database) {
        System.setProperty("com.zaxxer.hikari.aliveBypassWindowMs", "60000");
        try {
            return database.pool(config -> {});
        } finally {
            System.clearProperty("com.zaxxer.hikari.aliveBypassWindowMs");
        }
    }

    /** A pool as it comes trusts a connection that was in use just now, as that of a heartbeat may be, and does not know H2's errors. */
    @Test
    void aHolderOverAPoolAsItComesGoesOnWhenItsSessionsAreKilled(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            LockService mine = services.build(trusting(database), builder -> builder.nodeLease(ofSeconds(6)));
            Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
            LockHandle lock = mine.acquire(LockRequest.of("as-it-comes")).onLost(losses::add);
            for (int round = 0; round < 3; round++) {
                awaitHeartbeat(lock);
                Sessions.killAll(database);
                awaitHeartbeat(lock);
            }
            assertThat(losses).isEmpty();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void threadsWhoseConnectionsAreKilledExcludeEachOtherAndLeaveNothingHeld(Database database) throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger inside = new AtomicInteger();
        LockRequest request = LockRequest.of("contended").waitAtMost(SOON);
        ExecutorService threads = Executors.newCachedThreadPool();
        try (Services services = Services.on(database)) {
            List<LockService> both =
                    List.of(service(services, database, LONG_LEASE), service(services, database, LONG_LEASE));
            List<Future<?>> workers = new ArrayList<>();
            Queue<Long> tokens = new ConcurrentLinkedQueue<>();
            for (LockService service : List.of(both.get(0), both.get(0), both.get(1), both.get(1))) {
                workers.add(threads.submit(() -> {
                    lockUntil(isOver, service, request, inside, tokens);
                    return null;
                }));
            }
            // Seldom enough for a pool to have living connections again in between.
            AtomicInteger kills = new AtomicInteger();
            await().pollInterval(ofMillis(300)).atMost(SOON).until(() -> {
                Sessions.killAll(database);
                return kills.incrementAndGet() == 8;
            });
            await().atMost(SOON)
                    .until(() ->
                            tokens.size() > workers.size() || workers.stream().anyMatch(Future::isDone));
            isOver.set(true);
            for (Future<?> worker : workers) {
                worker.get();
            }
            assertThat(tokens).doesNotHaveDuplicates().hasSizeGreaterThan(workers.size());
            // A release without an answer is repeated by its service.
            await().atMost(SOON)
                    .ignoreExceptions()
                    .until(() -> both.get(0).find(request.name()).isEmpty());
            for (LockService service : both) {
                service.acquire(request).close();
            }
        } finally {
            threads.shutdownNow();
        }
    }

    private static void lockUntil(
            AtomicBoolean isOver, LockService service, LockRequest request, AtomicInteger inside, Queue<Long> tokens)
            throws InterruptedException {
        while (!isOver.get()) {
            LockHandle lock;
            try {
                lock = service.acquire(request);
            } catch (LockStoreException e) {
                continue; // Nothing is held then, and whoever wants the lock still asks again.
            }
            assertThat(inside.incrementAndGet()).as("holders at once").isEqualTo(1);
            tokens.add(lock.fencingToken());
            inside.decrementAndGet();
            assertThat(lock.release()).isNotEqualTo(ReleaseOutcome.LOST);
        }
    }

    /** From the server's side, as an administrator, a proxy or a fail-over would do it. */
    @Test
    void aHoldOutlivesACrashOfTheServerThatIsShorterThanTheLeaseOfTheNode(Database shared) throws Exception {
        RestartableDatabase server = restartable(shared.kind());
        try (Services services = Services.on(server.database())) {
            LockService mine = service(services, server.database(), LONG_LEASE);
            LockService theirs = service(services, server.database(), SHORT_LEASE);
            LockRequest request = LockRequest.of("crash");
            Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
            LockHandle outer = mine.acquire(request).onLost(losses::add);
            LockHandle inner = mine.acquire(request);
            LockInfo before = mine.find(request.name()).orElseThrow();
            server.kill();
            // So the service knows already that heartbeats fail, and repeats them.
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> inner.renew(LONG_LEASE));
            assertThat(outer.state()).isEqualTo(LockState.HELD);
            server.restart();
            awaitHeartbeat(outer);
            assertThat(theirs.find(request.name()).orElseThrow())
                    .usingRecursiveComparison()
                    .ignoringFields("expiresIn")
                    .isEqualTo(before);
            assertThat(before.holdCount()).isEqualTo(2);
            assertThat(before.fencingToken()).isEqualTo(outer.fencingToken());
            assertIsSomebodyElses(theirs, request);
            assertThat(inner.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            assertThat(outer.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(losses).isEmpty();
            try (LockHandle next = theirs.acquire(request)) {
                assertThat(next.fencingToken()).isGreaterThan(outer.fencingToken());
            }
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void thoseWhoWaitThroughACrashOfTheServerAreServed(boolean isFair, Database shared) throws Exception {
        RestartableDatabase server = restartable(shared.kind());
        ExecutorService threads = Executors.newCachedThreadPool();
        try (Services services = Services.on(server.database())) {
            LockService mine = service(services, server.database(), LONG_LEASE);
            LockService theirs = service(services, server.database(), LONG_LEASE);
            LockRequest request = LockRequest.of("awaited").waitAtMost(ofMinutes(2));
            LockRequest waiting = isFair ? request.fair() : request;
            LockHandle held = theirs.acquire(request);
            List<Future<ReleaseOutcome>> served = new ArrayList<>();
            for (int thread = 0; thread < 4; thread++) {
                served.add(threads.submit(() -> mine.acquire(waiting).release()));
            }
            // Of threads that are not fair, only the first of a service announces itself.
            awaitWaiters(server, isFair ? 4 : 1);
            server.kill();
            server.restart();
            awaitHeartbeat(held);
            assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
            for (Future<ReleaseOutcome> each : served) {
                assertThat(each.get(SOON.toSeconds(), TimeUnit.SECONDS)).isEqualTo(ReleaseOutcome.RELEASED);
            }
            awaitWaiters(server, 0);
        } finally {
            threads.shutdownNow();
        }
    }

    private static void awaitWaiters(RestartableDatabase server, int count) {
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(server.database().queryForLong("select count(*) from lock_waiter"))
                        .isEqualTo(count));
    }

    @Test
    void aHoldIsLostOnTimeWhenTheServerStaysAwayForLongerThanTheLeaseOfTheNode(Database shared) throws Exception {
        // So that it is suspect for long enough to be seen.
        Duration lease = SHORT_LEASE.multipliedBy(2);
        RestartableDatabase server = restartable(shared.kind());
        try (Services services = Services.on(server.database())) {
            LockService mine = service(services, server.database(), lease);
            LockService theirs = service(services, server.database(), lease);
            LockRequest request = LockRequest.of("gone").waitAtMost(SOON);
            CompletableFuture<Long> lostAt = new CompletableFuture<>();
            Queue<LossCause> causes = new ConcurrentLinkedQueue<>();
            LockHandle lock = mine.acquire(request).onLost(loss -> {
                causes.add(loss.cause());
                lostAt.complete(System.nanoTime());
            });
            String node = mine.find(request.name()).orElseThrow().nodeId();
            server.kill();
            long killedAt = System.nanoTime();
            await().atMost(SOON).until(() -> lock.state() == LockState.SUSPECT);
            await().atMost(SOON).until(lostAt::isDone);
            assertThat(Duration.ofNanos(lostAt.join() - killedAt)).isLessThan(lease.plus(SLACK));
            assertThat(causes).containsExactly(LossCause.DATABASE_UNREACHABLE);
            server.restart();
            try (LockHandle next = theirs.acquire(request)) {
                assertThat(next.fencingToken()).isGreaterThan(lock.fencingToken());
                assertThat(lock.state()).isEqualTo(LockState.LOST);
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
            }
            try (LockHandle again = mine.acquire(request)) {
                assertThat(again.state()).isEqualTo(LockState.HELD);
                assertThat(mine.find(request.name()).orElseThrow().nodeId()).isNotEqualTo(node);
            }
        }
    }
}
