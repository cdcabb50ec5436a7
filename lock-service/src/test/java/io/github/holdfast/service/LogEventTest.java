package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.sources.ProjectDirectory;
import jakarta.persistence.EntityManagerFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;

/** What operators find in the log, whatever its messages become. */
@OnDatabase(TestDatabase.H2_TCP)
class LogEventTest {

    private static final Duration SOON = ofSeconds(60);
    private static final Path SOURCES = Path.of("src", "main", "java");
    private static final Path DOCS = ProjectDirectory.resolve("docs/operate/observability.md");

    private Database database;
    private Services services;
    private CapturedLog log;
    private CapturedLog logOfTasks;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        log = CapturedLog.of(LockService.class, Level.DEBUG);
        logOfTasks = CapturedLog.of("io.github.holdfast.task", Level.DEBUG);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
        log.close();
        logOfTasks.close();
    }

    private static Map<String, Object> fields(ILoggingEvent line) {
        return line.getKeyValuePairs().stream().collect(Collectors.toMap(pair -> pair.key, pair -> pair.value));
    }

    private Optional<Map<String, Object>> logged(LogEvent event) {
        return Stream.concat(log.lines().stream(), logOfTasks.lines().stream())
                .map(LogEventTest::fields)
                .filter(fields -> event.id().equals(fields.get("holdfast.event")))
                .findFirst();
    }

    private Map<String, Object> awaitLogged(LogEvent event) {
        return await().atMost(SOON)
                .until(() -> logged(event), Optional::isPresent)
                .orElseThrow();
    }

    @Test
    void aCloseSaysForWhichLocksItWaits() throws Exception {
        LockService mine = services.build(builder -> builder);
        LockHandle handle = mine.acquire(LockRequest.of("open handle"));
        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> mine.close(SOON));
        awaitLogged(LogEvent.SERVICE_DRAINING);
        assertThat(log.lines()).anyMatch(line -> line.getFormattedMessage().contains("(1): open handle"));
        handle.release();
        closing.get(SOON.toSeconds(), TimeUnit.SECONDS);
        LockService idle = services.build(builder -> builder);
        long before = log.lines().size();
        idle.close(SOON);
        assertThat(log.lines().stream().skip(before).map(LogEventTest::fields))
                .noneMatch(fields -> LogEvent.SERVICE_DRAINING.id().equals(fields.get("holdfast.event")));
    }

    private static final String WARNINGS = "io.github.holdfast.service.engine.tx.TransactionWarnings";

    // Several locks in one transaction

    @Test
    void onlyALockThatIsAcquiredAfterADeferredReleaseIsReported() throws Exception {
        EntityManagerFactory unit = services.unit(services.patientPoolOver(database.dataSource()));
        JpaTransactionManager manager = new JpaTransactionManager(unit);
        LockService mine = services.build(unit, builder -> builder.transactionManager(manager));
        List<LockRequest> both = List.of(LockRequest.of("a"), LockRequest.of("b"));
        try (CapturedLog warnings = CapturedLog.of(WARNINGS)) {
            TransactionStatus together = manager.getTransaction(null);
            mine.acquireAll(both).close();
            manager.commit(together);

            TransactionStatus again = manager.getTransaction(null);
            mine.acquire(LockRequest.of("again")).close();
            mine.acquire(LockRequest.of("again")).close();
            manager.commit(again);
            assertThat(warnings.lines()).isEmpty();

            TransactionStatus oneByOne = manager.getTransaction(null);
            mine.acquire(LockRequest.of("first")).close();
            mine.acquire(LockRequest.of("next")).close();
            manager.commit(oneByOne);
            assertThat(warnings.lines())
                    .singleElement()
                    .satisfies(line -> assertThat(line.getFormattedMessage()).contains("'next'", "use acquireAll"))
                    .satisfies(line -> assertThat(fields(line))
                            .containsEntry("holdfast.event", LogEvent.TRANSACTION_SEVERAL_LOCKS.id())
                            .containsEntry("holdfast.lock", "next"));
        }
    }

    // Handles that are passed on

    @Test
    void aReleaseByAnotherThreadWhileTheAcquiringThreadHasEnteredAgainIsReportedOnce() throws Exception {
        LockService mine = services.build(builder -> builder);
        LockRequest request = LockRequest.of("passed on");
        try (CapturedLog warnings = CapturedLog.of(WARNINGS)) {
            for (int round = 0; round < 2; round++) {
                LockHandle passedOn = mine.acquire(request);
                LockHandle entered = mine.acquire(request);
                CompletableFuture.runAsync(() -> passedOn.close()).join();
                entered.close();
            }
            assertThat(warnings.lines())
                    .singleElement()
                    .satisfies(line -> assertThat(line.getFormattedMessage())
                            .contains("'passed on'", "Call detach()")
                            .as("where it was released")
                            .contains("(" + LogEventTest.class.getName()))
                    .satisfies(line -> assertThat(fields(line))
                            .containsEntry("holdfast.event", LogEvent.LOCK_RELEASED_ELSEWHERE.id())
                            .containsEntry("holdfast.lock", "passed on"));
        }
    }

    @Test
    void aHandleThatIsPassedOnAsItShouldBeIsNotReported() throws Exception {
        LockService mine = services.build(builder -> builder);
        try (CapturedLog warnings = CapturedLog.of(WARNINGS)) {
            LockHandle detached = mine.acquire(LockRequest.of("detached")).detach();
            LockHandle lastOne = mine.acquire(LockRequest.of("last"));
            LockHandle first = mine.acquire(LockRequest.of("shared").shared());
            LockHandle ofOwner = mine.acquire(LockRequest.of("owned").owner("me"));
            CompletableFuture.runAsync(() -> {
                        LockHandle joined = mine.acquireUninterruptibly(
                                LockRequest.of("shared").shared());
                        LockHandle ofSameOwner = mine.acquireUninterruptibly(
                                LockRequest.of("owned").owner("me"));
                        Stream.of(detached, lastOne, first, ofOwner).forEach(LockHandle::close);
                        joined.close();
                        ofSameOwner.close();
                    })
                    .join();
            assertThat(warnings.lines()).isEmpty();
        }
    }

    // Leaks

    private static final LockRequest LEAK = LockRequest.of("leak").waitAtMost(SOON);

    private static Stream<LockRequest> droppedRequests() {
        return Stream.of(
                LEAK,
                LEAK.lease(ofDays(1)),
                LEAK.shared(),
                LEAK.shared().lease(ofDays(1)),
                LEAK.owner("me"),
                LEAK.fair());
    }

    @ParameterizedTest
    @MethodSource("droppedRequests")
    void aDroppedHandleIsReportedOnceAndCounted(LockRequest request) throws Exception {
        LockService mine = services.build(builder -> builder);
        long token = dropped(mine.acquire(request));
        awaitDropped(mine, 1);
        assertThat(awaitLogged(LogEvent.LOCK_LEAKED))
                .containsEntry("holdfast.lock", "leak")
                .containsEntry("holdfast.token", token);
        LockHandle kept = mine.acquire(LockRequest.of("kept"));
        awaitAnotherLook(mine);
        assertThat(leaks()).hasSize(1);
        assertThat(mine.admin().dropped()).isEqualTo(1);
        kept.close();
    }

    @Test
    void droppedPermitsAreReported() throws Exception {
        LockService mine = services.build(builder -> builder);
        long unused = dropped(
                mine.semaphore(SemaphoreRequest.of("leaking permits").limit(1)).acquire());
        awaitDropped(mine, 1);
        assertThat(awaitLogged(LogEvent.LOCK_LEAKED)).containsEntry("holdfast.lock", "leaking permits");
    }

    @Test
    @SuppressWarnings("LockNotBeforeTry") // what the view has locked ends with the test
    void whatIsKeptOnPurposeOrReleasedIsNotReported() throws Exception {
        LockService mine = services.build(builder -> builder);
        long detached = dropped(mine.acquire(LockRequest.of("detached")).detach());
        long unfenced = dropped(mine.acquire(LockRequest.of("unfenced").withoutFence()));
        LockHandle handle = mine.acquire(LockRequest.of("released"));
        handle.release();
        handle = null;
        java.util.concurrent.locks.Lock view = mine.asLock("view");
        view.lock();
        assertThat(detached).isNotEqualTo(unfenced);
        dropped(mine.acquire(LEAK));
        awaitDropped(mine, 1);
        assertThat(awaitLogged(LogEvent.LOCK_LEAKED)).containsEntry("holdfast.lock", "leak");
        assertThat(leaks()).hasSize(1);
        view.unlock();
    }

    /** It leads for as long as its process lives. */
    @Test
    void aLeaderIsNoLeak() throws Exception {
        LockService mine = services.build(builder -> builder.leakDetection(ofSeconds(1)));
        LeaderElection election = mine.election(ElectionRequest.of("leader"));
        election.start();
        await().atMost(SOON).until(election::isLeader);
        LockHandle held = mine.acquire(LockRequest.of("long"));
        assertThat(awaitLogged(LogEvent.LOCK_LEAKED)).containsEntry("holdfast.lock", "long");
        // A further check has seen both.
        LockHandle later = mine.acquire(LockRequest.of("later"));
        await().atMost(SOON).until(() -> leaks().size() > 1);
        assertThat(leaks()).hasSize(2);
        assertThat(election.isLeader()).isTrue();
        held.close();
        later.close();
    }

    @Test
    void aLockThatIsHeldForLongIsReportedWithTheStackOfItsAcquisition() throws Exception {
        LockService mine = services.build(builder -> builder.leakDetection(ofSeconds(1)));
        LockHandle first = mine.acquire(LockRequest.of("long"));
        assertThat(awaitLogged(LogEvent.LOCK_LEAKED)).containsEntry("holdfast.lock", "long");
        assertThat(leaks().get(0).getThrowableProxy().getStackTraceElementProxyArray())
                .anyMatch(frame -> frame.getStackTraceElement().getClassName().equals(LogEventTest.class.getName()));
        assertThat(mine.admin().dropped()).isZero();
        first.close();
        assertThat(leaks()).hasSize(1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> services.build(builder -> builder.leakDetection(Duration.ofMillis(999))));
    }

    private static long dropped(LockHandle handle) {
        return handle.fencingToken();
    }

    private List<ILoggingEvent> leaks() {
        return log.lines().stream()
                .filter(line -> LogEvent.LOCK_LEAKED.id().equals(fields(line).get("holdfast.event")))
                .toList();
    }

    private static void awaitDropped(LockService service, int count) {
        await().atMost(SOON).until(() -> {
            System.gc();
            return service.admin().dropped() == count;
        });
    }

    /** A lease of a second, whose loss the same look reports. */
    private void awaitAnotherLook(LockService service) throws Exception {
        LockHandle brief = Services.acquireBriefly(service, LockRequest.of("brief"));
        await().atMost(SOON).until(() -> logged(LogEvent.LOCK_LOST).isPresent());
        brief.release();
    }

    /** H2 reports a row that another transaction has created meanwhile as an error. */
    @Test
    void aLostRaceForANewNameIsNotLogged() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2, race -> new Thread(race, "racer"));
        try (CapturedLog hibernate = CapturedLog.of("org.hibernate.orm.jdbc")) {
            List<LockService> racers = List.of(services.build(own -> own), services.build(own -> own));
            for (int round = 0; round < 100; round++) {
                LockRequest request = LockRequest.of("new " + round).lease(ofSeconds(60));
                CyclicBarrier together = new CyclicBarrier(racers.size());
                List<Future<Optional<LockHandle>>> attempts = racers.stream()
                        .map(racer -> threads.submit(() -> {
                            together.await();
                            return racer.tryAcquire(request);
                        }))
                        .toList();
                int granted = 0;
                for (Future<Optional<LockHandle>> attempt : attempts) {
                    granted += attempt.get().isPresent() ? 1 : 0;
                }
                assertThat(granted).isEqualTo(1);
            }
            // Services of other tests, whose database is away, may still tell of it.
            assertThat(hibernate.lines().stream()
                            .filter(line -> line.getThreadName().equals("racer")))
                    .isEmpty();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void aServiceThatIsReady() {
        services.build(
                services.patientPoolOver(database.dataSource()),
                builder -> builder.lockDataSource(services.patientPoolOver(database.dataSource())));

        assertThat(awaitLogged(LogEvent.SERVICE_STARTED))
                .containsEntry("holdfast.version", "unknown")
                .containsEntry("holdfast.database", "H2")
                .containsEntry("holdfast.unit", "locks");
        assertThat(log.lines())
                .extracting(line -> line.getLevel() + " " + line.getFormattedMessage())
                .containsExactly("INFO Holdfast is active: version unknown, database H2, persistence unit 'locks',"
                        + " connections of its own, waiting threads poll");
    }

    @Test
    void aLockThatIsSuspectThenLostThenTakenOver() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockService mine = services.build(
                services.poolOver(faults),
                builder -> builder.nodeLease(ofSeconds(8)).withoutHousekeeping());
        LockService theirs = services.open();
        LockHandle lock = mine.acquire(LockRequest.of("order:1"));

        faults.down();
        assertThat(awaitLogged(LogEvent.LOCK_SUSPECT))
                .containsEntry("holdfast.lock", "order:1")
                .containsEntry("holdfast.token", lock.fencingToken());
        assertThat(awaitLogged(LogEvent.LOCK_LOST))
                .containsEntry("holdfast.lock", "order:1")
                .containsEntry("holdfast.token", lock.fencingToken())
                .containsEntry("holdfast.cause", "database_unreachable");

        try (LockHandle taken = theirs.acquire(LockRequest.of("order:1").waitAtMost(SOON))) {
            assertThat(awaitLogged(LogEvent.LOCK_TAKEN_OVER))
                    .containsEntry("holdfast.lock", "order:1")
                    .containsEntry("holdfast.token", taken.fencingToken())
                    .hasEntrySatisfying(
                            "holdfast.holder",
                            holder -> assertThat(holder.toString()).contains("@"));
        }
        faults.up();
        assertThat(log.lines())
                .extracting(line -> line.getLevel() + " " + line.getFormattedMessage())
                .contains(
                        "WARN Lock 'order:1' may be lost soon: its heartbeat is overdue",
                        "WARN Lock 'order:1' is lost: the database did not answer before the node's lease ended")
                .anyMatch(line -> line.startsWith("INFO Lock 'order:1' was taken over from "));
    }

    @Test
    void aLockTakenByForceUnderATransaction() throws Exception {
        EntityManagerFactory unit = services.unit(database.pool(pool -> pool.setMaximumPoolSize(5)));
        JpaTransactionManager transactions = new JpaTransactionManager(unit);
        LockService service = services.build(unit, builder -> builder.transactionManager(transactions));
        LockHandle lock = service.acquire(LockRequest.of("order:2"));

        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> new TransactionTemplate(transactions)
                        .executeWithoutResult(
                                status -> service.admin().forceRelease("order:2", "its holder hangs, ticket 4711")));

        assertThat(awaitLogged(LogEvent.LOCK_FORCED))
                .containsEntry("holdfast.lock", "order:2")
                .containsEntry("holdfast.token", lock.fencingToken())
                .containsEntry("holdfast.reason", "its holder hangs, ticket 4711")
                .containsKey("holdfast.holder");
        assertThat(awaitLogged(LogEvent.COMMIT_REFUSED)).containsEntry("holdfast.lock", "order:2");
        assertThat(awaitLogged(LogEvent.LOCK_LOST)).containsEntry("holdfast.lock", "order:2");
        lock.release();
    }

    @Test
    void aRunThatIsLost() {
        LockService service = services.open();
        TaskLock task = service.task(TaskRequest.of("nightly").every(ofDays(1)));

        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> task.runIfDue(lock -> service.admin().forceRelease("nightly", "a test")));

        long token = service.admin().lastRuns("", 10).get(0).fencingToken();
        assertThat(awaitLogged(LogEvent.RUN_LOST))
                .containsEntry("holdfast.lock", "nightly")
                .containsEntry("holdfast.token", token);
    }

    @Test
    void locksThatAServiceHoldsWhenItIsClosedAreNoWarning() throws Exception {
        LockService service = services.open();
        LockHandle lock = service.acquire(LockRequest.of("leader"));

        service.close();

        assertThat(awaitLogged(LogEvent.LOCK_LOST)).containsEntry("holdfast.cause", "service_closed");
        assertThat(log.lines()).extracting(ILoggingEvent::getLevel).containsOnly(Level.INFO);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void everyEventIsDocumentedAndNothingElse() throws IOException {
        String docs = Files.readString(DOCS);
        int start = docs.indexOf("## Log events");
        String section = docs.substring(start, docs.indexOf("\n## ", start));
        List<String> documented = Pattern.compile("(?m)^\\| `(holdfast\\.[a-z.-]+)` \\|")
                .matcher(section)
                .results()
                .map(row -> row.group(1))
                .toList();
        assertThat(documented)
                .doesNotHaveDuplicates()
                .containsExactlyInAnyOrderElementsOf(
                        Arrays.stream(LogEvent.values()).map(LogEvent::id).toList());
    }

    @Test
    void nothingIsLoggedForOperatorsWithoutAnId() throws IOException {
        try (Stream<Path> files = Files.walk(SOURCES)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                assertThat(Files.readString(file))
                        .as(file.toString())
                        .doesNotContain("LOG.info(", "LOG.warn(", "LOG.error(");
            }
        }
    }
}
