package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Three processes wait for a lock as fair requests, in a known order. The first one is killed or frozen. */
@Tag("process")
@OnEachDatabase({POSTGRESQL, MYSQL}) // A minute and a half on each.
class FairProcessTest {

    private static final String NAME = "fair";

    /** So long that nobody loses the lock on a machine that stands still for seconds. */
    private static final Duration NODE_LEASE = ofSeconds(40);

    private static final Duration SHORT = ofSeconds(12);
    private static final Duration LONG = ofMinutes(3);
    private static final Duration SOON = ofSeconds(90);

    /** A dead process keeps its place for four seconds, and others may look a second later. The rest is for a busy machine. */
    private static final Duration PASSED_OVER = ofSeconds(35);

    private final List<JavaProcess> workers = new ArrayList<>();
    private Database database;
    private Services services;
    private LockHandle held;

    @BeforeEach
    void open(Database injected) throws Exception {
        database = injected;
        services = Services.on(database);
        Services.emptyTables(database);
        held = services.build(builder -> builder.withoutHousekeeping()).acquire(LockRequest.of(NAME));
    }

    @AfterEach
    void close() throws Exception {
        workers.forEach(JavaProcess::close);
        services.close();
    }

    private JavaProcess start() throws InterruptedException {
        JavaProcess worker = NodeWorker.start(database, NODE_LEASE);
        workers.add(worker);
        return worker;
    }

    /** Lets each wait after those before it. */
    private void queue(JavaProcess... inOrder) {
        for (JavaProcess worker : inOrder) {
            queue(worker, LONG);
        }
    }

    private void queue(JavaProcess worker, Duration patience) {
        long before = places();
        worker.send("queue " + NAME + " " + patience.toMillis());
        awaitPlaces(before + 1);
    }

    private void awaitPlaces(long count) {
        await().atMost(SOON).untilAsserted(() -> assertThat(places()).isEqualTo(count));
    }

    private long places() {
        return database.queryForLong("select count(*) from lock_waiter");
    }

    private static void awaitGrant(JavaProcess worker, Duration atMost) throws InterruptedException {
        worker.awaitLine(line -> line.startsWith("granted " + NAME), atMost);
    }

    private static void free(JavaProcess worker) throws InterruptedException {
        worker.send("free " + NAME);
        worker.awaitLine(("freed " + NAME + " RELEASED")::equals, SOON);
    }

    private static boolean isAnswered(JavaProcess worker) {
        return worker.lines().stream().anyMatch(line -> line.startsWith("granted") || line.startsWith("refused"));
    }

    @Test
    void whoIsNextIsGrantedTheLockSoonAfterTheFirstInTheQueueWasKilled() throws Exception {
        JavaProcess killed = start();
        JavaProcess next = start();
        JavaProcess last = start();
        queue(killed, next, last);
        killed.kill();
        held.release();
        awaitGrant(next, PASSED_OVER);
        assertThat(isAnswered(last)).isFalse();
        free(next);
        awaitGrant(last, PASSED_OVER);
        free(last);
        assertThat(isAnswered(killed)).isFalse();
        LockAdmin admin =
                services.build(builder -> builder.withoutHousekeeping()).admin();
        await().atMost(SOON).untilAsserted(() -> {
            var unused = admin.housekeep();
            assertThat(places()).isZero();
        });
    }

    @Test
    void theFirstInTheQueueIsPassedOverWhileItIsFrozenAndHasItsTurnLater() throws Exception {
        JavaProcess frozen = start();
        JavaProcess next = start();
        JavaProcess last = start();
        queue(frozen, next, last);
        frozen.pause();
        held.release();
        awaitGrant(next, PASSED_OVER);
        assertThat(isAnswered(last)).isFalse();
        assertThat(isAnswered(frozen)).isFalse();
        frozen.resume();
        // It has kept its place, which counts again as soon as its process has said that it waits.
        awaitPlaces(2);
        await().atMost(SOON).until(() -> marked() == 2);
        free(next);
        awaitGrant(frozen, PASSED_OVER);
        assertThat(isAnswered(last)).isFalse();
        free(frozen);
        awaitGrant(last, PASSED_OVER);
        free(last);
        awaitPlaces(0);
    }

    /** How many processes have places that count. */
    private long marked() {
        String now = switch (database.kind()) {
            case MARIADB, MYSQL -> "utc_timestamp(6)";
            default -> "current_timestamp";
        };
        return database.queryForLong(
                "select count(distinct n.id) from lock_waiter w join lock_node n on n.id = w.node_id"
                        + " where n.ended = false and n.waits_until > " + now);
    }

    @Test
    void aProcessThatWasFrozenForLongerThanItWaitsGivesUpAndLeavesNoPlace() throws Exception {
        JavaProcess frozen = start();
        JavaProcess next = start();
        JavaProcess last = start();
        queue(frozen, SHORT);
        long start = System.nanoTime();
        queue(next, last);
        frozen.pause();
        held.release();
        awaitGrant(next, PASSED_OVER);
        await().atMost(SOON).until(() -> System.nanoTime() - start > SHORT.toNanos());
        assertThat(isAnswered(frozen)).isFalse();
        frozen.resume();
        frozen.awaitLine(("refused " + NAME)::equals, SOON);
        awaitPlaces(1);
        assertThat(isAnswered(last)).isFalse();
        free(next);
        awaitGrant(last, PASSED_OVER);
        free(last);
        awaitPlaces(0);
    }
}
