package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.wait.Pauses;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A process that holds locks for as long as it lives is killed, ends in good order, or is frozen and goes on. */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class NodeProcessTest {

    /** A machine that stands still for some seconds does not end it. */
    private static final Duration NODE_LEASE = ofSeconds(10);

    private static final Duration POLL = Pauses.LONGEST;

    /** What a busy machine may add. */
    private static final Duration SLACK = ofSeconds(10);

    private static final Duration SOON = ofSeconds(60);

    private Database database;
    private Services services;
    private LockService mine;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        mine = services.open();
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name).waitAtMost(SOON);
    }

    /** Returns the token. */
    private static long hold(JavaProcess worker, String name) throws InterruptedException {
        worker.send("hold " + name);
        return awaitHold(worker, name);
    }

    private static long awaitHold(JavaProcess worker, String name) throws InterruptedException {
        String answer = worker.awaitLine(line -> line.startsWith("holding " + name + " "), SOON);
        return Long.parseLong(answer.substring(answer.lastIndexOf(' ') + 1));
    }

    private static Duration since(long start) {
        return Duration.ofNanos(System.nanoTime() - start);
    }

    @Test
    void whatAKilledProcessHeldIsGrantedToTheNextOneWithinTheLeaseOfItsNode() throws Exception {
        List<String> others =
                IntStream.range(0, 20).mapToObj(number -> "killed-" + number).toList();
        try (JavaProcess worker = NodeWorker.start(database, NODE_LEASE)) {
            long token = hold(worker, "killed");
            for (String other : others) {
                hold(worker, other);
            }
            assertThat(mine.tryAcquire(LockRequest.of("killed"))).isEmpty();
            long start = System.nanoTime();
            worker.kill();
            try (LockHandle lock = mine.acquire(request("killed"))) {
                assertThat(since(start)).isLessThan(NODE_LEASE.plus(POLL).plus(SLACK));
                assertThat(lock.holdCount()).isEqualTo(1);
                assertThat(lock.fencingToken()).isGreaterThan(token);
                assertThat(mine.find("killed").orElseThrow().holdCount()).isEqualTo(1);
                assertThat(others).allSatisfy(other -> {
                    LockHandle next = mine.tryAcquire(LockRequest.of(other)).orElseThrow();
                    assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
                });
            }
            assertThat(mine.admin().held("", 100)).isEmpty();
        }
    }

    @Test
    void whatAProcessHeldThatEndsInGoodOrderIsFreeAtOnce() throws Exception {
        Duration longLease = ofMinutes(4);
        try (JavaProcess worker = NodeWorker.start(database, longLease)) {
            hold(worker, "ended");
            hold(worker, "ended-too");
            assertThat(mine.tryAcquire(LockRequest.of("ended"))).isEmpty();
            ProcessHandle.of(worker.pid()).orElseThrow().destroy();
            // The wait time is far from the lease, and long enough for a JVM to end.
            try (LockHandle lock = mine.acquire(request("ended").waitAtMost(longLease.dividedBy(4)))) {
                assertThat(lock.holdCount()).isEqualTo(1);
                mine.tryAcquire(LockRequest.of("ended-too")).orElseThrow().close();
            }
            assertThat(worker.waitFor(SOON))
                    .as("the status of one who was asked to end")
                    .isEqualTo(128 + 15);
        }
    }

    @Test
    void aHolderThatWasFrozenSeesThatItsLockIsLostBeforeItSeesAnythingElse() throws Exception {
        try (JavaProcess worker = NodeWorker.start(database, NODE_LEASE)) {
            for (NodeWorker.Look look : NodeWorker.Look.values()) {
                worker.send("watch " + look + " " + look);
                awaitHold(worker, look.name());
            }
            awaitBeats(2);
            pauseBetweenBeats(worker);
            long start = System.nanoTime();
            for (NodeWorker.Look look : NodeWorker.Look.values()) {
                mine.acquire(request(look.name()));
            }
            assertThat(since(start)).isLessThan(NODE_LEASE.plus(POLL).plus(SLACK));
            await().atMost(SOON)
                    .until(() ->
                            since(start).compareTo(NODE_LEASE.multipliedBy(5).dividedBy(2)) > 0);
            int before = worker.lines().size();
            worker.resume();
            for (NodeWorker.Look look : NodeWorker.Look.values()) {
                await().atMost(SOON)
                        .until(() -> looks(worker, before).stream().anyMatch(line -> line.startsWith("first " + look)));
            }
            // Those that go on to look have looked many times when the worker has answered this.
            hold(worker, "next");
            // A look in which it was frozen tells the loss too, before the first one that began after that.
            assertThat(looks(worker, before))
                    .allMatch(line -> line.endsWith(" LOST"))
                    .filteredOn(line -> line.startsWith("first "))
                    .hasSize(NodeWorker.Look.values().length);
            for (NodeWorker.Look look : NodeWorker.Look.values()) {
                assertThat(mine.tryAcquire(LockRequest.of(look.name()))
                                .orElseThrow()
                                .holdCount())
                        .as("what the frozen one did has changed nothing")
                        .isEqualTo(2);
            }
        }
    }

    private static List<String> looks(JavaProcess worker, int from) {
        return worker.lines().stream()
                .skip(from)
                .filter(line -> line.startsWith("first ") || line.startsWith("then "))
                .toList();
    }

    /** Until a beat has confirmed it, a grant counts by itself, and the node's lease would not be tried. */
    private void awaitBeats(int count) {
        String nodeId = mine.find(NodeWorker.Look.STATE.name()).orElseThrow().nodeId();
        String version = "select version from lock_node where id = '" + nodeId + "'";
        for (int beat = 0; beat < count; beat++) {
            long before = database.queryForLong(version);
            await().atMost(SOON).until(() -> database.queryForLong(version) > before);
        }
    }

    /** Stopped between a beat and its commit, the process would keep the node's row, and with it the lock, from everybody. */
    private void pauseBetweenBeats(JavaProcess worker) {
        String name = NodeWorker.Look.STATE.name();
        await().pollInterval(ofMillis(5)).atMost(SOON).until(() -> {
            Duration left = mine.find(name).orElseThrow().expiresIn();
            return left.compareTo(NODE_LEASE.minusSeconds(1)) > 0 && left.compareTo(NODE_LEASE.minusMillis(50)) < 0;
        });
        worker.pause();
    }
}
