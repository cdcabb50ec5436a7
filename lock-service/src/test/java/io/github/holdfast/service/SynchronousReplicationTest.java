package io.github.holdfast.service;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.RestartableDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A PostgreSQL server whose synchronous standby is away: each commit waits for it. A wait that is cancelled leaves the commit in the
 * primary alone, and the client is told success
 * (https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION).
 */
@Tag("outage")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SynchronousReplicationTest {

    private static final Duration WAIT = ofSeconds(3);

    /** What may come on top of the wait time: a statement of a second, its cancellation and a lost race. */
    private static final Duration IN_TIME = ofSeconds(15);

    private static final Executor THREAD = task -> new Thread(task).start();

    private RestartableDatabase server;
    private Services services;

    @BeforeAll
    void start() {
        server = RestartableDatabase.start(TestDatabase.POSTGRESQL);
    }

    @AfterAll
    void stop() {
        // JUnit stops what was not started, too, where there is no such server.
        if (server != null) {
            server.close();
        }
    }

    @BeforeEach
    void open() {
        services = Services.on(database());
    }

    @AfterEach
    void close() throws Exception {
        standbyIsBack();
        services.close();
    }

    private LockService service(boolean autoCommit) {
        return services.build(
                services.opened(database().pool(pool -> pool.setAutoCommit(autoCommit))),
                LockServiceBuilder::withoutHousekeeping);
    }

    private Database database() {
        return server.database();
    }

    private void standbyIsAway() {
        database().administer("alter system set synchronous_standby_names = 'standby'", "select pg_reload_conf()");
        // Sessions show the new value before the checkpointer has told them all to wait.
        await().until(this::commitsWait);
    }

    private boolean commitsWait() throws Exception {
        FutureTask<Void> commit = new FutureTask<>(
                () -> database().execute("select pg_logical_emit_message(true, 'does it wait?', '')"), null);
        THREAD.execute(commit);
        await().until(() -> commit.isDone() || waitingCommits("count(*)") > 0);
        if (commit.isDone()) {
            return false;
        }
        long unused = waitingCommits("count(pg_cancel_backend(pid))");
        commit.get(60, TimeUnit.SECONDS);
        return true;
    }

    private long waitingCommits(String what) {
        return database()
                .queryForLong("select " + what + " from pg_stat_activity"
                        + " where wait_event = 'SyncRep' and query like '%does it wait?%'");
    }

    private void standbyIsBack() {
        database().administer("alter system reset synchronous_standby_names", "select pg_reload_conf()");
        await().until(() -> "".equals(database().queryForString("show synchronous_standby_names")));
    }

    /** For what has to be there before the standby goes, or comes back after it. */
    private static LockRequest patient(String name) {
        return LockRequest.of(name).waitAtMost(ofSeconds(60));
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name).waitAtMost(WAIT);
    }

    private static void assertIsNotAcquiredInTime(LockService service, LockRequest request) {
        FutureTask<LockHandle> acquisition = new FutureTask<>(() -> service.acquire(request));
        THREAD.execute(acquisition);
        // Whether others came before or the database did not answer depends on which statement was the last.
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> acquisition.get(IN_TIME.toMillis(), TimeUnit.MILLISECONDS))
                .withCauseInstanceOf(HoldfastException.class);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aGrantThatOnlyThePrimaryHasIsNotBelieved(boolean autoCommit) throws Exception {
        LockService mine = service(autoCommit);
        LockService theirs = service(autoCommit);
        mine.acquire(patient("lease")).close();
        mine.acquire(patient("node")).close();
        theirs.acquire(patient("lease")).close();
        standbyIsAway();
        assertIsNotAcquiredInTime(mine, request("lease").lease(ofMinutes(5)));
        assertIsNotAcquiredInTime(mine, request("node"));
        assertIsNotAcquiredInTime(theirs, request("lease").lease(ofMinutes(5)));
        standbyIsBack();
        for (String name : new String[] {"lease", "node"}) {
            theirs.acquire(patient(name)).close();
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theFirstAcquisitionOfANameEndsInTimeToo(boolean autoCommit) throws Exception {
        LockService mine = service(autoCommit);
        mine.acquire(patient("known")).close();
        standbyIsAway();
        assertIsNotAcquiredInTime(mine, request("new " + autoCommit));
        standbyIsBack();
        mine.acquire(patient("new " + autoCommit)).close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aGrantIsBelievedOnceTheStandbyIsBack(boolean autoCommit) throws Exception {
        LockService mine = service(autoCommit);
        // With a lease: a heartbeat that waits for the standby too makes what lives with the node suspect.
        LockRequest request = patient("patient").lease(ofMinutes(5));
        mine.acquire(request).close();
        standbyIsAway();
        CompletableFuture<LockHandle> acquired = CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return mine.acquire(request);
                    } catch (InterruptedException thrown) {
                        throw new IllegalStateException(thrown);
                    }
                },
                THREAD);
        // Its first statement has ended by its cancellation.
        await().atMost(ofSeconds(30))
                .until(() ->
                        database().queryForLong("select hold_count from distributed_lock where name = 'patient'") == 1);
        await().during(ofSeconds(2)).atMost(ofSeconds(30)).until(() -> !acquired.isDone());
        standbyIsBack();
        assertThat(acquired).succeedsWithin(IN_TIME).satisfies(handle -> {
            assertThat(handle.state()).isEqualTo(LockState.HELD);
            assertThat(handle.release()).isEqualTo(ReleaseOutcome.RELEASED);
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aReleaseThatOnlyThePrimaryHasIsNotBelieved(boolean autoCommit) throws Exception {
        LockService mine = service(autoCommit);
        LockHandle handle = mine.acquire(patient("released").lease(ofMinutes(5)));
        standbyIsAway();
        long start = System.nanoTime();
        assertThat(handle.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(IN_TIME);
        standbyIsBack();
        mine.acquire(patient("released")).close();
    }

    @Test
    void aLockIsNotHandedOverByAWriteThatOnlyThePrimaryHas() throws Exception {
        LockService mine = service(true);
        LockRequest request = patient("handed over").lease(ofMinutes(5));
        LockHandle first = mine.acquire(request);
        HandOffThread next = HandOffThread.start(() -> mine.acquire(request));
        standbyIsAway();
        ReleaseOutcome outcome = first.release();
        assertThat(outcome).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertThat(next).isNotDone();
        standbyIsBack();
        assertThat(next.lock().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aRenewalThatOnlyThePrimaryHasIsNotBelieved() throws Exception {
        LockService mine = service(true);
        LockHandle handle = mine.acquire(patient("renewed").lease(ofMinutes(1)));
        standbyIsAway();
        assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> handle.renew(ofMinutes(5)));
        assertThat(handle.remaining()).isLessThan(ofMinutes(2));
        standbyIsBack();
        handle.renew(ofMinutes(5));
        assertThat(handle.remaining()).isGreaterThan(ofMinutes(2));
        assertThat(handle.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }
}
