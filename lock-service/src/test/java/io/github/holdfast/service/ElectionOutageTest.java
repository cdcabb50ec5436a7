package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What elections cost, and what becomes of them when the database or their service goes away. */
@Tag("outage")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class ElectionOutageTest {

    private static final Duration NODE_LEASE = ofSeconds(9);
    private static final Duration SOON = ofSeconds(60);
    private static final Duration MEASURED = ofSeconds(6);
    private static final ElectionRequest REQUEST = ElectionRequest.of("outage").retryAfterEnd(ZERO);

    private Database database;
    private Services services;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        services = Services.on(database);
        Services.emptyTables(database);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private LockService service(UnaryOperator<LockServiceBuilder> settings) {
        return services.build(builder -> settings.apply(builder.withoutHousekeeping()));
    }

    private LockService service() {
        return service(builder -> builder.nodeLease(NODE_LEASE));
    }

    private LockService over(FaultyDataSource faults) {
        return services.build(
                services.poolOver(faults),
                builder -> builder.nodeLease(NODE_LEASE).withoutHousekeeping());
    }

    private LockService over(CountingDataSource counting) {
        HikariDataSource pool = services.patientPoolOver(counting);
        return services.build(pool, builder -> builder.nodeLease(ofMinutes(2)).withoutHousekeeping());
    }

    private static LeaderElection led(LockService service, ElectionRequest request, ElectionDiary diary) {
        LeaderElection election = service.election(request);
        election.start(diary);
        diary.awaitCalls(1);
        return election;
    }

    private static void awaitLeader(LeaderElection election) {
        await().pollInterval(ofMillis(5)).atMost(SOON).until(election::isLeader);
    }

    /** What was sent in a while. */
    private record Sent(List<String> sql, double seconds) {}

    /** Counts what is sent in a while, beginning when little was sent for a second. */
    private static Sent sent(CountingDataSource counting, int atMostAtFirst) {
        await().atMost(SOON).until(() -> {
            counting.reset();
            await().during(ofSeconds(1)).atMost(SOON).until(() -> true);
            return counting.statements() <= atMostAtFirst;
        });
        counting.reset();
        long start = System.nanoTime();
        await().pollInterval(ofMillis(200)).atMost(SOON).until(() -> System.nanoTime() - start >= MEASURED.toNanos());
        List<String> sql = counting.sql();
        return new Sent(sql, (System.nanoTime() - start) / 1e9);
    }

    @Test
    void leadingCostsNoStatement() {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LeaderElection election = led(over(counting), REQUEST, new ElectionDiary());
        Sent sent = sent(counting, 0);
        assertThat(election.isLeader()).isTrue();
        assertThat(sent.sql()).isEmpty();
    }

    @Test
    void aLeaderWithAShortLeaseSendsHeartbeatsOnly() {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService service = services.build(
                services.patientPoolOver(counting),
                builder -> builder.nodeLease(NODE_LEASE).withoutHousekeeping());
        LeaderElection election = led(service, REQUEST, new ElectionDiary());
        // As many beats as it takes to see what a beat costs, however slow the machine is.
        counting.reset();
        await().atMost(SOON).until(() -> beats(counting) >= 3);
        List<String> sent = counting.sql();
        assertThat(election.isLeader()).isTrue();
        // A reconciliation follows each sixth heartbeat, and reads the locks of the node.
        assertThat(sent).filteredOn(sql -> sql.contains("update")).allMatch(sql -> sql.contains("lock_node"));
        assertThat(sent).hasSizeLessThan(8);
    }

    private static long beats(CountingDataSource counting) {
        return counting.sql().stream().filter(sql -> sql.contains("update")).count();
    }

    @Test
    void aCandidateCostsLittle() throws Exception {
        LockService theirs = service(builder -> builder);
        theirs.acquire(LockRequest.of("outage"));
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LeaderElection election = over(counting).election(REQUEST);
        election.start();
        int atMost = database.kind().isH2() ? 30 : 5;
        assertCost("waits", sent(counting, atMost), atMost);
    }

    @Test
    void aCandidateThatLooksCostsAStatementForEachLook() throws Exception {
        LockService theirs = service(builder -> builder);
        theirs.acquire(LockRequest.of("outage"));
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LeaderElection election = over(counting).election(REQUEST.lookEvery(ofSeconds(2)));
        election.start();
        Sent sent = sent(counting, 2);
        assertCost("looks every 2 s", sent, 1);
        await().atMost(SOON).until(() -> !counting.sql().isEmpty());
    }

    private void assertCost(String what, Sent sent, int perSecond) {
        System.out.printf(
                "%s: a candidate that %s sends %.1f statements/s%n",
                database.kind(), what, sent.sql().size() / sent.seconds());
        assertThat(sent.sql()).hasSizeLessThanOrEqualTo((int) (perSecond * sent.seconds()));
    }

    @Test
    void aLeaderThatDoesNotReachTheDatabaseLeadsNoMoreBeforeTheNextOneDoes() {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        ElectionDiary diary = new ElectionDiary();
        LeaderElection cutOff = led(over(faults), REQUEST, diary);
        LeaderElection next = service().election(REQUEST);
        next.start();
        faults.down();
        await().pollInterval(ofMillis(1)).atMost(SOON).until(() -> {
            boolean isNextLeading = next.isLeader();
            assertThat(isNextLeading && cutOff.isLeader()).isFalse();
            return isNextLeading;
        });
        diary.awaitCalls(2);
        assertThat(diary.causes()).containsExactly(RevocationCause.DATABASE_UNREACHABLE);
        faults.up();
        next.close();
        // The same candidate, whose connections all broke.
        diary.awaitCalls(3);
        assertThat(cutOff.isLeader()).isTrue();
    }

    @Test
    void aLeaderCanStepDownAsSoonAsItsHeartbeatIsOverdue() {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        ElectionDiary diary = new ElectionDiary();
        LeaderElection election = led(over(faults), REQUEST.stepDownWhenSuspect(), diary);
        var leadership = election.leadership().orElseThrow();
        await().atMost(SOON).until(() -> leadership.remaining().compareTo(NODE_LEASE.dividedBy(2)) > 0);
        faults.down();
        await().pollInterval(ofMillis(1)).atMost(SOON).until(() -> !election.isLeader());
        diary.awaitCalls(2);
        assertThat(diary.causes()).containsExactly(RevocationCause.SUSPECT);
        faults.up();
        diary.awaitCalls(3);
        assertThat(leadership.isOver()).isTrue();
    }

    @Test
    void aLostLeadershipIsToldAlthoughTheLeaderDoesNotReturn() {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        Semaphore go = new Semaphore(0);
        ElectionDiary diary = new ElectionDiary(leadership -> go.acquireUninterruptibly());
        LeaderElection stuck = led(over(faults), REQUEST, diary);
        LeaderElection next = service().election(REQUEST);
        next.start();
        faults.down();
        diary.awaitCalls(2);
        awaitLeader(next);
        assertThat(stuck.isLeader()).isFalse();
        faults.up();
        go.release();
        assertThat(diary.entries()).hasSize(2);
    }

    @Test
    void aServiceThatIsClosedResignsFirst() {
        ElectionDiary diary = new ElectionDiary();
        LockService closing = service(builder -> builder.nodeLease(ofMinutes(5)));
        LeaderElection election = led(closing, REQUEST, diary);
        LeaderElection waiting = closing.election(ElectionRequest.of("outage"));
        waiting.start();
        LeaderElection next = service().election(REQUEST);
        next.start();
        closing.close();
        assertThat(diary.causes()).containsExactly(RevocationCause.RESIGNED);
        assertThat(election.isLeader()).isFalse();
        awaitLeader(next);
        assertThatIllegalStateException().isThrownBy(() -> closing.election(REQUEST));
        assertThatIllegalStateException().isThrownBy(election::start);
    }

    @Test
    void aServiceThatIsClosedWithAGracePeriodWaitsForTheCallbacks() {
        Semaphore go = new Semaphore(0);
        AtomicReference<Boolean> isLockThere = new AtomicReference<>();
        LockService closing = service();
        ElectionDiary diary = new ElectionDiary(leadership -> {}, leadership -> {
            go.acquire();
            isLockThere.set(closing.find("outage").isPresent());
        });
        LeaderElection unused = led(closing, REQUEST, diary);
        Thread closer = Daemons.named("closer").newThread(() -> closing.close(SOON));
        closer.start();
        diary.awaitCalls(2);
        go.release();
        await().atMost(SOON).until(() -> !closer.isAlive());
        assertThat(isLockThere.get()).isTrue();
        assertThat(diary.causes()).containsExactly(RevocationCause.RESIGNED);
    }

    @Test
    void aServiceThatIsClosedDoesNotWaitForEverForALeader() {
        Semaphore go = new Semaphore(0);
        LockService closing = service();
        ElectionDiary diary = new ElectionDiary(leadership -> go.acquireUninterruptibly());
        LeaderElection unused = led(closing, REQUEST, diary);
        closing.close();
        diary.awaitCalls(2);
        LeaderElection next = service().election(REQUEST);
        next.start();
        awaitLeader(next);
        go.release();
        assertThat(diary.causes()).containsExactly(RevocationCause.RESIGNED);
    }

    @Test
    void theThreadsEndWithTheService() {
        var before = Services.threads();
        LockService closing = service();
        LeaderElection unused = led(closing, REQUEST, new ElectionDiary());
        LeaderElection waiting = closing.election(REQUEST);
        waiting.start();
        assertThat(Services.threads()).anyMatch(thread -> thread.getName().startsWith("holdfast-leader"));
        closing.close();
        await().atMost(SOON).until(() -> before.containsAll(Services.threads()));
    }

    @Test
    void aCandidateThatIsRefusedTriesAgain() throws Exception {
        LockService service = service();
        var unused = service.semaphore(io.github.holdfast.semaphore.SemaphoreRequest.of("outage")
                        .limit(1))
                .acquire()
                .release();
        try (CapturedLog log = CapturedLog.of(LeaderElection.class)) {
            LeaderElection election = service.election(REQUEST);
            election.start();
            awaitThatItTriesAgain(log);
            database.execute("delete from distributed_lock where name = 'outage'");
            awaitLeader(election);
        }
    }

    @Test
    void aCandidateGetsItsThreadsAsSoonAsThereAreSome() {
        Set<String> missing = ConcurrentHashMap.newKeySet();
        missing.addAll(List.of("holdfast-leader", "holdfast-leader-watch"));
        LockService service = service(
                builder -> Services.adjusted(builder, settings -> settings.withTicker(machineWithoutThreads(missing))));
        try (CapturedLog log = CapturedLog.of(LeaderElection.class)) {
            LeaderElection election = service.election(REQUEST);
            assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(election::start);
            assertThat(service.admin().elections("", 10)).isEmpty();

            missing.remove("holdfast-leader");
            election.start();
            awaitThatItTriesAgain(log);
            missing.remove("holdfast-leader-watch");
            awaitLeader(election);
        }
    }

    private static void awaitThatItTriesAgain(CapturedLog log) {
        await().atMost(SOON).until(() -> !log.lines().isEmpty());
        assertThat(log.lines().get(0).getFormattedMessage())
                .isEqualTo("This node could not become the leader of 'outage', and tries again");
    }

    /** The clock of this machine, which has no thread left for these names. */
    private static Ticker machineWithoutThreads(Set<String> missing) {
        return new Ticker() {
            @Override
            public long nanoTime() {
                return SYSTEM.nanoTime();
            }

            @Override
            public long wallNanos() {
                return SYSTEM.wallNanos();
            }

            @Override
            public void park(Object blocker, long nanos) {
                SYSTEM.park(blocker, nanos);
            }

            @Override
            public ScheduledExecutorService scheduler(String threadName) {
                if (missing.contains(threadName)) {
                    throw new OutOfMemoryError("The test has no thread left");
                }
                return SYSTEM.scheduler(threadName);
            }
        };
    }
}
