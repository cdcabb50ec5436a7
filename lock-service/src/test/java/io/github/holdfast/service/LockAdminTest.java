package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What operators see: who holds what through which node. */
@OnEachDatabase
class LockAdminTest {

    private static final Duration LEASE = ofSeconds(60);
    private static final Duration SOON = ofSeconds(60);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Database database;
    private Services services;
    private TestRows rows;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        rows = TestRows.of(database);
        Services.emptyTables(database);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
        threads.shutdownNow();
    }

    private LockService service() {
        return services.build(pool(), LockServiceBuilder::withoutHousekeeping);
    }

    private HikariDataSource pool() {
        return database.pool(config -> {
            config.setMaximumPoolSize(5);
            config.setMinimumIdle(1);
        });
    }

    @Test
    void clockAndHeartbeatAreTold() throws Exception {
        LockAdmin admin = service().admin();
        Instant before = admin.databaseClock();
        assertThat(admin.heartbeatAge()).isEmpty();
        LockService holding = service();
        LockHandle lock = holding.acquire(LockRequest.of("clocked"));
        assertThat(holding.admin().heartbeatAge())
                .hasValueSatisfying(age -> assertThat(age).isBetween(Duration.ZERO, SOON));
        assertThat(holding.find("clocked").orElseThrow().acquiredAt()).isBetween(before, admin.databaseClock());
        lock.close();
    }

    @Test
    void waitersAreToldByNameWhileTheyWait() throws Exception {
        LockService service = service();
        LockAdmin admin = service.admin();
        assertThat(admin.waiters()).isEmpty();
        LockHandle lock = service().acquire(LockRequest.of("contended"));
        Future<?> first = threads.submit(
                () -> service.acquire(LockRequest.of("contended")).release());
        await().atMost(SOON).until(() -> admin.waiters().size() == 1);
        Future<?> second = threads.submit(
                () -> service.acquire(LockRequest.of("contended").rowLock()).release());
        await().atMost(SOON).until(() -> admin.waiters().size() == 2);

        List<WaiterInfo> waiters = admin.waiters();
        assertThat(waiters).extracting(WaiterInfo::name).containsOnly("contended");
        assertThat(waiters).allSatisfy(waiter -> assertThat(waiter.holder()).startsWith(admin.process() + "/"));
        assertThat(waiters.get(0).waited()).isGreaterThan(waiters.get(1).waited());
        lock.release();
        first.get(60, TimeUnit.SECONDS);
        second.get(60, TimeUnit.SECONDS);
        assertThat(admin.waiters()).isEmpty();
    }

    // Held locks

    @Test
    void whatIsHeldIsToldInPagesInTheOrderOfNames() {
        LockService service = service();
        List<String> names =
                IntStream.range(0, 25).mapToObj("held %02d"::formatted).toList();
        rows.node("alive", false, ofMinutes(-1));
        rows.heldThrough("alive", names);
        rows.free(ofSeconds(1), "free", "held", "held 10, but free", "zz");

        List<String> seen = new ArrayList<>();
        List<Integer> sizes = new ArrayList<>();
        List<LockInfo> page = service.admin().held("", 10);
        while (!page.isEmpty()) {
            sizes.add(page.size());
            page.forEach(info -> seen.add(info.name()));
            page = service.admin().held(page.get(page.size() - 1).name(), 10);
        }
        assertThat(seen).isEqualTo(names);
        assertThat(sizes).containsExactly(10, 10, 5);
        assertThat(service.admin().held("held 0x", 2))
                .as("after a name that is not there")
                .extracting(LockInfo::name)
                .containsExactly("held 10", "held 11");
    }

    @Test
    void whatIsHeldIsHeldByALeaseThatIsNotOverOrThroughANodeThatWasNotEnded() {
        LockService mine = service();
        LockHandle nodeHeld =
                mine.tryAcquire(LockRequest.of("a, through my node")).orElseThrow();
        LockHandle leased = mine.tryAcquire(
                        LockRequest.of("b, by a lease").owner("me").lease(LEASE))
                .orElseThrow();
        mine.tryAcquire(LockRequest.of("c, released").lease(LEASE))
                .orElseThrow()
                .close();
        rows.leased(ofSeconds(1), "d, expired");
        rows.node("ended", true, ofMinutes(-1));
        rows.heldThrough("ended", "e, through an ended node");
        rows.heldThrough("absent", "f, through an absent node");
        rows.node("overdue", false, ofSeconds(1));
        rows.heldThrough("overdue", "g, through an overdue node");
        rows.free(ofSeconds(1), "h, free");

        List<LockInfo> held = service().admin().held("", 100);

        assertThat(held)
                .extracting(LockInfo::name)
                .containsExactly("a, through my node", "b, by a lease", "g, through an overdue node");
        assertThat(held.get(0)).satisfies(info -> {
            assertThat(info.owner()).isEqualTo(nodeHeld.owner());
            assertThat(info.fencingToken()).isEqualTo(nodeHeld.fencingToken());
            assertThat(info.nodeId()).isIn(rows.nodes());
            assertThat(info.holder()).isNotNull();
            assertThat(info.expiresIn()).isBetween(Duration.ofMillis(1), ofSeconds(30));
        });
        assertThat(held.get(1)).satisfies(info -> {
            assertThat(info.owner()).isEqualTo("me");
            assertThat(info.fencingToken()).isEqualTo(leased.fencingToken());
            assertThat(info.nodeId()).isNull();
            assertThat(info.holdCount()).isEqualTo(1);
            assertThat(info.expiresIn()).isBetween(Duration.ofMillis(1), LEASE);
        });
        assertThat(held.get(2)).satisfies(info -> {
            assertThat(info.nodeId()).isEqualTo("overdue");
            assertThat(info.expiresIn()).isZero();
        });
        held.forEach(info -> assertThat(mine.find(info.name()))
                .get()
                .usingRecursiveComparison()
                .ignoringFields("expiresIn")
                .isEqualTo(info));
    }

    @Test
    void housekeepingIsSeenWhileItIsUnderWay() {
        LockService service = service();
        try (LockHandle underWay = service.tryAcquire(
                        LockRequest.of(Housekeeping.LOCK_NAME).lease(LEASE))
                .orElseThrow()) {
            assertThat(service.admin().held("", 10)).extracting(LockInfo::name).containsExactly(underWay.name());
        }
    }

    // Nodes

    @Test
    void nodesAreToldAliveAndDead() throws Exception {
        LockService mine = services.build(
                pool(),
                builder ->
                        builder.withoutHousekeeping().application("admin-test").nodeLease(ofSeconds(10)));
        assertThat(mine.admin().nodes("", 10)).as("before it is needed").isEmpty();
        mine.acquire(LockRequest.of("held"));
        String id = mine.find("held").orElseThrow().nodeId();
        LockService closed = service();
        closed.acquire(LockRequest.of("another"));
        String closedId = mine.find("another").orElseThrow().nodeId();
        closed.close();
        rows.node("overdue", false, ofSeconds(1));
        rows.node("ended early", true, ofMinutes(-1));

        List<NodeInfo> nodes = service().admin().nodes("", 10);

        assertThat(nodes).hasSize(4).extracting(NodeInfo::id).isEqualTo(rows.nodes());
        assertThat(nodes).filteredOn(NodeInfo::isAlive).singleElement().satisfies(node -> {
            assertThat(node.id()).isEqualTo(id);
            assertThat(node.description()).contains("admin-test");
            assertThat(node.expiresIn()).isBetween(Duration.ofMillis(1), ofSeconds(10));
        });
        assertThat(nodes)
                .filteredOn(node -> !node.isAlive())
                .hasSize(3)
                .allSatisfy(node -> assertThat(node.expiresIn()).isZero());
        assertThat(nodes)
                .filteredOn(NodeInfo::isStopped)
                .as("the only one that was closed")
                .extracting(NodeInfo::id)
                .containsExactly(closedId);
    }

    @Test
    void nodesAreToldInPagesInTheOrderOfIds() {
        LockService service = service();
        List<String> ids =
                IntStream.range(0, 25).mapToObj("node %02d"::formatted).toList();
        rows.nodes(ids, false, ofDays(1));
        List<String> seen = new ArrayList<>();
        List<Integer> sizes = new ArrayList<>();
        List<NodeInfo> page = service.admin().nodes("", 10);
        while (!page.isEmpty()) {
            sizes.add(page.size());
            page.forEach(info -> seen.add(info.id()));
            page = service.admin().nodes(page.get(page.size() - 1).id(), 10);
        }
        assertThat(seen).isEqualTo(ids);
        assertThat(sizes).containsExactly(10, 10, 5);
    }

    // Waiting

    @Test
    void waitingTellsHowManyAcquisitionsOfThisServiceAreUnderWay() throws Exception {
        LockService mine = service();
        LockService theirs = service();
        LockRequest request = LockRequest.of("contended").waitAtMost(SOON);
        List<Future<?>> waiters = new ArrayList<>();
        try (LockHandle held = theirs.acquire(request)) {
            assertThat(mine.admin().waiting()).isZero();
            for (int waiter = 0; waiter < 3; waiter++) {
                waiters.add(threads.submit(() -> {
                    mine.acquire(request).close();
                    return null;
                }));
            }
            await().atMost(SOON).until(() -> mine.admin().waiting() == 3);
            assertThat(theirs.admin().waiting()).isZero();
        }
        for (Future<?> waiter : waiters) {
            waiter.get(60, TimeUnit.SECONDS);
        }
        assertThat(mine.admin().waiting()).isZero();
    }

    // Arguments and failures

    @Test
    void pagesHaveFromOneToAThousandEntries() {
        LockAdmin admin = service().admin();
        for (int limit : new int[] {Integer.MIN_VALUE, -1, 0, LockAdmin.MAX_PAGE_SIZE + 1}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> admin.held("", limit))
                    .withMessageContaining("1000")
                    .withMessageContaining(String.valueOf(limit));
            assertThatIllegalArgumentException().isThrownBy(() -> admin.nodes("", limit));
            assertThatIllegalArgumentException().isThrownBy(() -> admin.elections("", limit));
        }
        assertThat(admin.held("", LockAdmin.MAX_PAGE_SIZE)).isEmpty();
        assertThat(admin.nodes("", 1)).isEmpty();
    }

    @Test
    void reasonAndNameOfAForcedReleaseAreChecked() {
        LockAdmin admin = service().admin();
        assertThatIllegalArgumentException().isThrownBy(() -> admin.forceRelease("", "why"));
        for (String reason : List.of("", " ", "two\nlines", "x".repeat(1001))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> admin.forceRelease("name", reason))
                    .withMessageContaining("reason");
        }
        assertThat(admin.forceRelease("name", "x".repeat(1000))).isEmpty();
    }

    @Test
    void aClosedServiceTellsNothing() throws Exception {
        LockService service = service();
        LockAdmin admin = service.admin();
        service.acquire(LockRequest.of("held"));
        service.close();
        for (ThrowingCallable call : List.<ThrowingCallable>of(
                () -> admin.held("", 10),
                () -> admin.nodes("", 10),
                () -> admin.elections("", 10),
                () -> admin.waitingNodes("held"),
                () -> admin.forceRelease("held", "why"),
                admin::housekeep)) {
            assertThatIllegalStateException().isThrownBy(call).withMessageContaining("closed");
        }
        assertThat(admin.waiting()).isZero();
    }

    @Test
    void whileTheDatabaseIsDownALockStoreExceptionSaysWhatWasNotDone() {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockAdmin admin = services.build(services.poolOver(faults), LockServiceBuilder::withoutHousekeeping)
                .admin();
        faults.down();
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> admin.held("", 10))
                .withMessageContaining("held locks could not be read");
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> admin.nodes("", 10))
                .withMessageContaining("nodes could not be read");
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> admin.waitingNodes("held"))
                .withMessageContaining("The nodes that wait for 'held' could not be read");
        faults.up();
        assertThat(admin.held("", 10)).isEmpty();
    }
}
