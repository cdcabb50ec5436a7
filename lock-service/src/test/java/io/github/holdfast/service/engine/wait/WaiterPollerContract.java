package io.github.holdfast.service.engine.wait;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.CapturedLog;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.service.Services;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Whatever becomes of the poller's own statements, those who wait get their locks. */
abstract class WaiterPollerContract {

    /** Far less than a waiter's longest pause, which would serve it without the poller. */
    static final Duration SOON = ofSeconds(25);

    /** An idle thread ends by itself after 10 s. */
    private static final Duration BEFORE_IDLE_THREADS_END = ofSeconds(8);

    private static final LockRequest ONE = LockRequest.of("one").waitAtMost(ofMinutes(5));
    private static final LockRequest TWO = LockRequest.of("two").waitAtMost(ofMinutes(5));

    private final ExecutorService threads = Executors.newCachedThreadPool();
    Database database;
    Services services;
    Looks looks;

    /** Releases. */
    private LockService theirs;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        services = Services.on(database);
        database.execute("delete from distributed_lock", "delete from lock_node", "delete from lock_waiter");
        looks = new Looks(services.opened(database.pool(config -> {})));
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
    }

    @AfterEach
    void close() throws Exception {
        looks.answer();
        threads.shutdown();
        services.close();
    }

    /** A service whose waiters only the poller wakes. */
    LockService polling() {
        return service(LockServiceBuilder::withoutWakeUp);
    }

    private LockService service(UnaryOperator<LockServiceBuilder> settings) {
        return services.build(services.unit(looks), builder -> settings.apply(builder.withoutHousekeeping()));
    }

    private Future<LockHandle> acquiring(LockService service, LockRequest request) {
        return threads.submit(() -> service.acquire(request));
    }

    static ConditionFactory soon() {
        return await().pollInterval(ofMillis(10)).atMost(SOON);
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    private long waiterRows() {
        return database.queryForLong("select count(*) from lock_waiter");
    }

    /** Waits until so many rows show waiters, and only the poller looks for them. */
    void awaitThatOnlyThePollerLooks(int rows) {
        soon().until(() -> waiterRows() == rows);
        soon().pollInterval(ofMillis(500)).until(looks::wereThereHardlyOthers);
    }

    @Test
    void whileALookHasNoAnswerWaitersAreServedAndTheServiceCloses() throws Exception {
        LockService mine = polling();
        LockHandle held = theirs.acquire(ONE);
        theirs.acquire(TWO);
        Future<LockHandle> waiting = acquiring(mine, ONE);
        Future<LockHandle> inVain = acquiring(mine, TWO);
        awaitThatOnlyThePollerLooks(2);
        looks.hang();
        soon().until(looks::isOneHanging);
        held.release();
        get(waiting).close();
        assertThat(looks.isOneHanging()).isTrue();
        get(threads.submit(() -> mine.close()));
        assertEndedByTheClose(inVain);
        assertThat(looks.isOneHanging()).isTrue();
    }

    private static void assertEndedByTheClose(Future<?> waiting) {
        assertThatThrownBy(() -> get(waiting)).hasCauseInstanceOf(IllegalStateException.class);
    }

    /** As after an outage that was longer than the node's lease. */
    @Test
    void whenItsNodeIsGoneAWaiterIsShownToOthersThroughTheNextNode() throws Exception {
        LockService mine = service(builder -> builder.nodeLease(ofSeconds(3)));
        LockHandle held = theirs.acquire(ONE);
        Future<LockHandle> waiting = acquiring(mine, ONE);
        soon().until(() -> shown() == 1);
        String node = nodeOfWaiter();
        database.execute("delete from lock_node where id = '" + node + "'");
        soon().until(() -> shown() == 1);
        assertThat(nodeOfWaiter()).isNotEqualTo(node);
        assertThat(waiterRows()).isEqualTo(1);
        held.release();
        get(waiting).close();
    }

    /** How many waiters other services see. */
    private long shown() {
        boolean isMySql = database.kind() == TestDatabase.MYSQL || database.kind() == TestDatabase.MARIADB;
        return database.queryForLong("select count(*) from lock_waiter w join lock_node n on n.id = w.node_id"
                + " where n.waits_until > " + (isMySql ? "utc_timestamp(6)" : "current_timestamp"));
    }

    private String nodeOfWaiter() {
        return String.valueOf(database.queryForString("select node_id from lock_waiter"));
    }

    @Test
    void closingTheServiceEndsAllWaitsAndLeavesNoRowAndNoThread() throws Exception {
        // A lock with a lease needs no node, so the thread of its heartbeat does not begin later.
        theirs.acquire(ONE.lease(ofMinutes(5)));
        theirs.acquire(TWO.lease(ofMinutes(5)));
        Set<Thread> before = Services.threads();
        LockService mine = service(builder -> builder);
        List<Future<LockHandle>> waiting = List.of(
                acquiring(mine, ONE),
                acquiring(mine, ONE),
                acquiring(mine, ONE.owner("chosen")),
                acquiring(mine, TWO.fair()));
        soon().until(() -> waiterRows() == 3);
        soon().until(() -> Services.threads().stream()
                .filter(thread -> !before.contains(thread))
                .map(Thread::getName)
                .toList()
                .containsAll(List.of("holdfast-poller", "holdfast-heartbeat")));
        mine.close();
        waiting.forEach(WaiterPollerContract::assertEndedByTheClose);
        soon().until(() -> waiterRows() == 0);
        soon().atMost(BEFORE_IDLE_THREADS_END).until(() -> before.containsAll(Services.threads()));
    }

    @Test
    void whileTheDatabaseRefusesLooksWaitersAreServedAndOneWarningIsLogged() throws Exception {
        try (CapturedLog log = CapturedLog.of(WaiterPoller.class)) {
            LockService mine = polling();
            serveInSpiteOfRefusals(mine);
            assertThat(log.lines()).hasSize(1);
            looks.permit();
            serveInSpiteOfRefusals(mine);
            assertThat(log.lines()).as("after a time with answers").hasSize(2);
        }
    }

    private void serveInSpiteOfRefusals(LockService mine) throws Exception {
        List<LockHandle> held = List.of(theirs.acquire(ONE), theirs.acquire(TWO));
        List<Future<LockHandle>> waiting = List.of(acquiring(mine, ONE), acquiring(mine, TWO));
        awaitThatOnlyThePollerLooks(2);
        int refused = looks.refused();
        looks.refuse();
        soon().until(() -> looks.refused() - refused >= 3);
        held.forEach(LockHandle::release);
        for (Future<LockHandle> acquired : waiting) {
            get(acquired).close();
        }
    }
}
