package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockAdmin.HousekeepingReport;
import io.github.holdfast.service.TestRows.Row;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** What is tidied up, what is not, and whom it disturbs. */
@OnEachDatabase
class HousekeepingTest {

    private static final Duration SOON = ofSeconds(60);
    private static final Duration LONG_AGO = ofDays(8);
    private static final Duration DELAY = ofSeconds(30);

    /** In the statement that locks those rows of a page that nobody has locked. */
    private static final String LOCKING = "skip locked";

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
        return service(builder -> builder);
    }

    private LockService service(UnaryOperator<LockServiceBuilder> settings) {
        return services.build(pool(), builder -> settings.apply(builder.withoutHousekeeping()));
    }

    private HikariDataSource pool() {
        return database.pool(config -> {
            config.setMaximumPoolSize(5);
            config.setMinimumIdle(1);
        });
    }

    private LockService service(WatchedDataSource watched) {
        return services.build(watched, LockServiceBuilder::withoutHousekeeping);
    }

    private WatchedDataSource watchedPool() {
        return new WatchedDataSource(pool());
    }

    private static HousekeepingReport housekeep(LockService service) {
        try {
            return service.admin().housekeep();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private static LockHandle acquired(LockService service, String name) {
        return service.tryAcquire(LockRequest.of(name).lease(ofSeconds(60)))
                .orElseThrow(() -> new AssertionError("Refused: " + name));
    }

    private static List<String> names(String prefix, int count) {
        return IntStream.range(0, count)
                .mapToObj(number -> "%s %05d".formatted(prefix, number))
                .toList();
    }

    // What is done

    @Test
    void nodesWhoseLeaseIsOverAreEndedAndWhatDeadNodesLeftIsFreed() {
        rows.node("overdue", false, ofSeconds(1));
        rows.node("ended", true, ofMinutes(1));
        rows.node("ended early", true, ofMinutes(-1));
        rows.node("alive", false, ofMinutes(-1));
        rows.heldThrough("overdue", "of overdue 1", "of overdue 2");
        rows.heldThrough("ended", "of ended");
        rows.heldThrough("ended early", "of ended early");
        rows.heldThrough("absent", "of absent");
        rows.heldThrough("alive", "of alive");
        rows.leased(ofMinutes(-1), "leased");
        rows.leased(ofSeconds(60), "expired");
        rows.free(ofSeconds(60), "free");
        Map<String, Row> before = new TreeMap<>();
        rows.names().forEach(name -> before.put(name, rows.row(name)));
        List<String> freed = List.of("of overdue 1", "of overdue 2", "of ended", "of absent");

        assertThat(housekeep(service())).isEqualTo(new HousekeepingReport(1, 4, 0, 0, 0, 0));

        before.forEach((name, row) -> assertThat(rows.row(name))
                .as(name)
                .isEqualTo(
                        freed.contains(name) ? new Row(null, null, null, 0, row.token() + 1, row.version() + 1) : row));
        assertThat(database.queryForLong("select count(*) from lock_node where id = 'overdue' and version = 8"))
                .isEqualTo(1);
        assertThat(database.queryForLong("select count(*) from lock_node where version = 7"))
                .isEqualTo(3);
        assertThat(housekeep(service())).isEqualTo(new HousekeepingReport(0, 0, 0, 0, 0, 0));
    }

    @Test
    void whatWasFreedIsGrantedAtOnce() {
        rows.heldThrough("absent", "freed");
        LockService service = service();
        housekeep(service);
        long token = rows.row("freed").token();
        try (LockHandle lock = acquired(service, "freed")) {
            assertThat(lock.fencingToken()).isGreaterThan(token);
        }
    }

    @Test
    void aNodeWhoseServiceLivesIsNotEndedNorItsLocksFreed() throws Exception {
        LockService mine = service(builder -> builder.nodeLease(ofSeconds(8)));
        LockService theirs = service();
        try (LockHandle lock = mine.acquire(LockRequest.of("mine"))) {
            // A beat may be late on a busy machine, and then the lock is suspect for a moment.
            await().during(ofSeconds(9))
                    .atMost(SOON)
                    .until(() -> housekeep(theirs).equals(new HousekeepingReport(0, 0, 0, 0, 0, 0))
                            && lock.state() != LockState.LOST);
        }
    }

    @Test
    void rowsThatWereIdleForLongerThanTheRetentionArePurgedAndNoOthers() {
        rows.free(LONG_AGO, "purged: free");
        rows.leased(LONG_AGO, "purged: lease is over");
        rows.freeAndAvailable(LONG_AGO, LONG_AGO, "purged: available");
        rows.leased(ofMinutes(-1), "kept: leased");
        rows.node("alive", false, ofMinutes(-1));
        rows.heldThrough("alive", "kept: held through a node");
        rows.freeAndAvailable(LONG_AGO, ofHours(-1), "kept: not available");
        rows.freeAndAvailable(LONG_AGO, ofHours(1), "kept: available since an hour");
        rows.free(ofHours(1), "kept: free since an hour");
        rows.free(ofDays(6), "kept: free since six days");
        rows.leased(ofDays(6), "kept: lease is over since six days");

        assertThat(housekeep(service())).isEqualTo(new HousekeepingReport(0, 0, 3, 0, 0, 0));

        assertThat(rows.names()).hasSize(7).allMatch(name -> name.startsWith("kept"));
        assertThat(rows.nodes()).containsExactly("alive");
    }

    @Test
    void retentionIsWhatTheServiceWasBuiltWith() {
        rows.free(ofMinutes(61), "purged");
        rows.free(ofMinutes(59), "kept");
        rows.node("purged", true, ofMinutes(61));
        rows.node("kept", true, ofMinutes(59));
        LockService service = service(builder -> builder.retention(ofHours(1)));

        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 0, 1, 1, 0, 0));

        assertThat(rows.names()).containsExactly("kept");
        assertThat(rows.nodes()).containsExactly("kept");
    }

    @Test
    void oldDeadNodesArePurgedUnlessALockNamesThem() throws Exception {
        rows.node("old, ended", true, LONG_AGO);
        rows.node("old, overdue", false, LONG_AGO);
        rows.node("old, named", true, LONG_AGO);
        rows.node("young", true, ofDays(6));
        rows.node("alive", false, ofMinutes(-1));
        rows.heldThrough("old, named", "in use");
        LockService service = service();
        try (Connection other = rows.locking("in use")) {
            assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(1, 0, 0, 2, 0, 0));
            assertThat(rows.nodes()).containsExactly("alive", "old, named", "young");
            other.rollback();
        }
        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 1, 0, 1, 0, 0));
        assertThat(rows.nodes()).containsExactly("alive", "young");
    }

    @Test
    void allPagesAreDone() {
        List<String> overdue = names("overdue", 150);
        rows.nodes(overdue, false, ofSeconds(1));
        rows.nodes(names("idle", 150), true, LONG_AGO);
        List<String> held = names("held", 250);
        for (int node = 0; node < 5; node++) {
            rows.heldThrough(overdue.get(node), held.subList(node * 50, node * 50 + 50));
        }
        rows.free(LONG_AGO, names("free", 250));
        LockService service = service();

        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(150, 250, 250, 150, 0, 0));

        assertThat(rows.names()).isEqualTo(held);
        assertThat(rows.nodes()).isEqualTo(overdue);
        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 0, 0, 0, 0, 0));
    }

    @Test
    void tokensGoOnGrowingAfterAPurge() {
        LockService service = service();
        LockHandle before = acquired(service, "purged");
        acquired(service, "also purged").close();
        before.close();
        database.execute(rows.sqlToAge("purged", 8), rows.sqlToAge("also purged", 8));

        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 0, 2, 0, 0, 0));

        assertThat(rows.names()).isEmpty();
        try (LockHandle after = acquired(service, "purged")) {
            assertThat(after.fencingToken()).isGreaterThan(before.fencingToken());
        }
    }

    @Test
    void aClosedServiceDoesNotTidyUp() {
        LockService service = service();
        service.close();
        assertThatIllegalStateException()
                .isThrownBy(() -> service.admin().housekeep())
                .withMessageContaining("closed");
    }

    // Rows in use

    @Test
    void rowsThatAnotherTransactionHasLockedAreLeftForTheNextTime() throws Exception {
        rows.free(LONG_AGO, "free 1", "free 2", "free 3");
        rows.heldThrough("absent", "held 1", "held 2");
        LockService service = service();
        try (Connection one = rows.locking("free 2");
                Connection other = rows.locking("held 1")) {
            long start = System.nanoTime();
            assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 1, 2, 0, 0, 0));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(ofSeconds(40));
            assertThat(rows.names()).containsExactly("free 2", "held 1", "held 2");
            one.rollback();
            other.rollback();
        }
        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 1, 1, 0, 0, 0));
        assertThat(rows.names()).containsExactly("held 1", "held 2");
    }

    @Test
    void aRowThatChangesAfterItWasReadIsNotPurged() {
        rows.free(LONG_AGO, "acquired", "acquired and released", "purged");
        WatchedDataSource watched = watchedPool();
        LockService mine = service(watched);
        LockService theirs = service();
        Queue<LockHandle> held = new ConcurrentLinkedQueue<>();
        watched.beforeNext(LOCKING, () -> {
            held.add(acquired(theirs, "acquired"));
            acquired(theirs, "acquired and released").close();
            // Old in spite of it, so that only the version tells.
            database.execute(rows.sqlToAge("acquired and released", 8));
        });

        assertThat(housekeep(mine)).isEqualTo(new HousekeepingReport(0, 0, 1, 0, 0, 0));

        assertThat(rows.names()).containsExactly("acquired", "acquired and released");
        assertThat(held.remove().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aLockThatIsTakenOverAfterItWasReadIsNotFreed() {
        rows.heldThrough("absent", "taken over", "freed");
        WatchedDataSource watched = watchedPool();
        LockService mine = service(watched);
        LockService theirs = service();
        Queue<LockHandle> held = new ConcurrentLinkedQueue<>();
        watched.beforeNext(LOCKING, () -> held.add(acquired(theirs, "taken over")));

        assertThat(housekeep(mine)).isEqualTo(new HousekeepingReport(0, 1, 0, 0, 0, 0));

        assertThat(rows.row("freed").owner()).isNull();
        assertThat(held.remove().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aNodeThatBeatsAfterItWasSeenOverdueIsNotEnded() {
        rows.node("overdue", false, ofSeconds(1));
        WatchedDataSource watched = watchedPool();
        LockService mine = service(watched);
        watched.beforeNext(
                "update lock_node",
                () -> database.execute("update lock_node set expires_at = expires_at + interval '60' second"));

        assertThat(housekeep(mine)).isEqualTo(new HousekeepingReport(0, 0, 0, 0, 0, 0));
    }

    // One at a time

    @Test
    void whileOneServiceIsAtItTheOtherWaits() throws Exception {
        rows.free(LONG_AGO, "purged");
        WatchedDataSource watched = watchedPool();
        LockService mine = service(watched);
        LockService theirs = service();
        CountDownLatch isAtIt = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        watched.beforeNext(LOCKING, () -> {
            isAtIt.countDown();
            await().atMost(SOON).until(() -> goOn.getCount() == 0);
        });
        Future<HousekeepingReport> first = threads.submit(() -> housekeep(mine));
        assertThat(isAtIt.await(60, TimeUnit.SECONDS)).isTrue();
        Future<HousekeepingReport> second = threads.submit(() -> housekeep(theirs));
        await().atMost(SOON).until(() -> theirs.admin().waiting() == 1);
        assertThatThrownBy(() -> second.get(500, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
        assertThat(theirs.find(Housekeeping.LOCK_NAME)).isPresent();
        goOn.countDown();

        assertThat(first.get(60, TimeUnit.SECONDS)).isEqualTo(new HousekeepingReport(0, 0, 1, 0, 0, 0));
        assertThat(second.get(60, TimeUnit.SECONDS)).isEqualTo(new HousekeepingReport(0, 0, 0, 0, 0, 0));
    }

    @Test
    void whoWaitsForAnotherServiceCanBeInterrupted() throws Exception {
        LockService mine = service();
        try (LockHandle another = acquired(service(), Housekeeping.LOCK_NAME)) {
            CompletableFuture<Throwable> thrown = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                try {
                    mine.admin().housekeep();
                } catch (InterruptedException | RuntimeException failed) {
                    thrown.complete(failed);
                }
            });
            thread.start();
            await().atMost(SOON).until(() -> mine.admin().waiting() == 1);
            thread.interrupt();
            assertThat(thrown.get(60, TimeUnit.SECONDS)).isInstanceOf(InterruptedException.class);
        }
    }

    // By itself

    private LockService everySecond(DataSource dataSource) {
        return services.build(dataSource, builder -> builder.housekeepingEvery(ofSeconds(1)));
    }

    @Test
    void itIsDoneByItselfAndNotAgainWithinHalfAPeriodByWhomeverElse() {
        rows.free(LONG_AGO, "purged 1");
        for (int service = 0; service < 4; service++) {
            everySecond(pool());
        }
        await().atMost(SOON).until(() -> rows.names().isEmpty());
        rows.free(LONG_AGO, "purged 2");
        // What the database says of each run: its time by the token of the lock.
        TreeMap<Long, Long> runs = new TreeMap<>();
        await().pollInterval(ofMillis(20)).atMost(SOON).until(() -> {
            long before = rows.row(Housekeeping.TURN_NAME).token();
            long acquiredAt = rows.acquiredAtMicros(Housekeeping.TURN_NAME);
            if (rows.row(Housekeeping.TURN_NAME).token() == before) {
                runs.put(before, acquiredAt);
            }
            return runs.size() >= 5;
        });
        assertThat(rows.names()).isEmpty();
        List<Long> tokens = List.copyOf(runs.keySet());
        List<Long> times = List.copyOf(runs.values());
        for (int run = 1; run < runs.size(); run++) {
            // On a busy machine a run may begin and end between two looks.
            long runsSince = tokens.get(run) - tokens.get(run - 1);
            assertThat(times.get(run) - times.get(run - 1)).isGreaterThanOrEqualTo(runsSince * 500_000);
        }
    }

    @Test
    void aDatabaseThatRefusesToWriteIsToldOfInOneLineAndDisturbsNobody() throws Exception {
        Refusing refusing = new Refusing(database, pool());
        LockService service = everySecond(refusing);
        try (CapturedLog log = CapturedLog.of(Housekeeping.class);
                LockHandle lock = acquired(service, "mine")) {
            rows.free(LONG_AGO, "left");
            refusing.begin();
            int before = log.lines().size();
            await().atMost(SOON).until(() -> log.lines().size() >= before + 2);
            ILoggingEvent line = log.lines().get(before + 1);
            assertThat(line.getLevel()).isEqualTo(Level.WARN);
            assertThat(line.getFormattedMessage())
                    .contains("Housekeeping failed")
                    .contains("may write")
                    .contains(Housekeeping.LOCK_NAME)
                    .doesNotContain("\n");
            assertThat(line.getThrowableProxy()).isNull();
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            assertThat(service.find("mine")).isPresent();
            assertThat(rows.names()).contains("left");

            refusing.end();
            await().atMost(SOON).until(() -> !rows.names().contains("left"));
        } finally {
            refusing.close();
        }
    }

    /** The connections to a database that refuses to write for a while. */
    private static final class Refusing extends DelegatingDataSource implements AutoCloseable {

        private final Database database;
        private volatile boolean isReadOnly;

        Refusing(Database database, DataSource pool) {
            super(pool);
            this.database = database;
        }

        void begin() {
            isReadOnly = true;
            if (database.kind().isH2()) {
                // It has no read-only transactions, and its administrator may do everything.
                database.execute("create trigger refuses before insert, update, delete on distributed_lock call '"
                        + RefusingTrigger.class.getName() + "'");
            }
        }

        void end() {
            isReadOnly = false;
            if (database.kind().isH2()) {
                database.execute("drop trigger if exists refuses");
            }
        }

        @Override
        public void close() {
            if (isReadOnly) {
                end();
            }
        }

        /** Each time, as a pool sets back what it finds when it opens a connection. */
        @Override
        public Connection getConnection() throws SQLException {
            Connection connection = super.getConnection();
            if (!database.kind().isH2()) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute(
                            switch (database.kind()) {
                                case POSTGRESQL -> "set default_transaction_read_only = " + (isReadOnly ? "on" : "off");
                                default -> "set session transaction read " + (isReadOnly ? "only" : "write");
                            });
                }
            }
            return connection;
        }
    }

    // The delay after a dead holder

    private LockService delaying() {
        return service(builder -> builder.lockDelay(DELAY));
    }

    @Test
    void whatADeadHolderLeftIsNotGrantedBeforeTheDelayIsOver() throws Exception {
        LockService service = delaying();
        rows.heldThrough("absent", "through a dead node");
        rows.leased(ofSeconds(1), "by a lease that is over");
        rows.node("overdue", false, ofSeconds(1));
        rows.heldThrough("overdue", "through a node that is overdue");
        for (String name : rows.names()) {
            Row before = rows.row(name);
            assertThat(service.tryAcquire(LockRequest.of(name))).as(name).isEmpty();
            assertThat(rows.row(name))
                    .as(name)
                    .isEqualTo(new Row(null, null, null, 0, before.token() + 1, before.version() + 1));
            assertThat(service.find(name)).as(name).isEmpty();
        }
        assertGrantedAfterTheDelay(service);
    }

    @Test
    void whatHousekeepingFreedIsNotGrantedBeforeTheDelayIsOver() throws Exception {
        LockService service = delaying();
        rows.heldThrough("absent", "freed 1", "freed 2");
        assertThat(housekeep(service)).isEqualTo(new HousekeepingReport(0, 2, 0, 0, 0, 0));
        assertThat(service.tryAcquire(LockRequest.of("freed 1"))).isEmpty();
        assertGrantedAfterTheDelay(service);
    }

    /** By the database's clock: a lock that is taken from its holder expires at that moment. */
    private void assertGrantedAfterTheDelay(LockService service) throws Exception {
        // As if most of the delay were over.
        String earlier = " - interval '" + DELAY.minusSeconds(2).toSeconds() + "' second";
        database.execute("update distributed_lock set expires_at = expires_at" + earlier
                + ", available_at = available_at" + earlier);
        List<String> names = rows.names();
        List<Long> freedAt = names.stream().map(rows::expiresAtMicros).toList();
        for (int index = 0; index < names.size(); index++) {
            String name = names.get(index);
            service.acquire(LockRequest.of(name).waitAtMost(SOON)).close();
            Duration waited = Duration.ofNanos((rows.acquiredAtMicros(name) - freedAt.get(index)) * 1000);
            // The first one is waited for, and the others then are free as well.
            assertThat(waited).as(name).isBetween(DELAY, DELAY.plus(SOON));
        }
    }

    @Test
    void whatWasReleasedIsGrantedAtOnceInSpiteOfTheDelay() throws Exception {
        LockService service = delaying();
        service.acquire(LockRequest.of("through a node")).close();
        acquired(service, "by a lease").close();
        acquired(service, "by a lease").close();
        service.tryAcquire(LockRequest.of("through a node")).orElseThrow().close();
    }

    // Under load

    @Test
    void whoAcquiresWhatIsBeingPurgedIsNeverRefusedAndTokensNeverGoBack() throws Exception {
        int count = 10_000;
        int threadCount = 4;
        List<String> all = names("stress", count);
        rows.free(LONG_AGO, all);
        long oldToken = rows.row(all.get(0)).token();
        LockService service = service();
        AtomicBoolean isOver = new AtomicBoolean();
        List<Future<Integer>> workers = new ArrayList<>();
        DataSource dataSource = database.pool(pool -> pool.setMaximumPoolSize(threadCount));
        for (int thread = 0; thread < threadCount; thread++) {
            List<String> own = IntStream.iterate(thread, index -> index < count, index -> index + threadCount)
                    .mapToObj(all::get)
                    .toList();
            long seed = thread;
            workers.add(threads.submit(() -> acquireAndRelease(service, dataSource, own, oldToken, isOver, seed)));
        }
        LockService purging = service();
        // A slow machine needs longer for half of them.
        long end = System.nanoTime() + ofSeconds(7).toNanos();
        long latest = System.nanoTime() + SOON.toNanos();
        int purged = 0;
        while (purged < count + 1000 && System.nanoTime() < (purged < count / 2 ? latest : end)) {
            HousekeepingReport report = housekeep(purging);
            assertThat(report.nodesEnded() + report.locksFreed() + report.nodesPurged())
                    .isZero();
            purged += report.locksPurged();
        }
        isOver.set(true);
        int acquired = 0;
        for (Future<Integer> worker : workers) {
            acquired += worker.get(60, TimeUnit.SECONDS);
        }
        assertThat(purged).isGreaterThanOrEqualTo(count / 2);
        assertThat(acquired).isGreaterThan(100);
    }

    /** To ask H2 what time it is with each of these names would meet one of its errors each time, beside so many statements. */
    @Test
    void tenThousandYoungNamesAreLookedThroughBesideOthersWork() throws Exception {
        rows.free(ofDays(1), names("young", 10_000));
        LockService service = service();
        AtomicBoolean isOver = new AtomicBoolean();
        List<Future<Integer>> workers = new ArrayList<>();
        for (String own : List.of("a", "b", "c")) {
            workers.add(threads.submit(() -> {
                int acquired = 0;
                while (!isOver.get()) {
                    acquired(service, own).close();
                    acquired++;
                }
                return acquired;
            }));
        }
        LockService looking = service();
        try {
            for (int time = 0; time < 5; time++) {
                assertThat(housekeep(looking)).isEqualTo(new HousekeepingReport(0, 0, 0, 0, 0, 0));
            }
        } finally {
            isOver.set(true);
        }
        for (Future<Integer> worker : workers) {
            assertThat(worker.get(60, TimeUnit.SECONDS)).isGreaterThan(0);
        }
    }

    /** Names of its own, so that nobody else has a reason to hold one. */
    private int acquireAndRelease(
            LockService service,
            DataSource dataSource,
            List<String> own,
            long oldToken,
            AtomicBoolean isOver,
            long seed)
            throws SQLException {
        Random random = new Random(seed);
        Map<String, Long> tokens = new HashMap<>();
        int acquired = 0;
        try (Connection connection = dataSource.getConnection();
                Statement statement = connection.createStatement()) {
            while (!isOver.get() || acquired < 30) {
                // Now along the table, as the purge goes, and now among a few, to meet it again.
                String name = own.get(random.nextBoolean() ? acquired % own.size() : random.nextInt(50));
                LockRequest request = LockRequest.of(name);
                LockHandle lock = service.tryAcquire(random.nextBoolean() ? request : request.lease(ofSeconds(60)))
                        .orElseThrow(() -> new AssertionError("Refused: " + name));
                assertThat(lock.fencingToken()).as(name).isGreaterThan(tokens.getOrDefault(name, oldToken));
                tokens.put(name, lock.fencingToken());
                assertThat(lock.release()).as(name).isEqualTo(ReleaseOutcome.RELEASED);
                acquired++;
                statement.execute(rows.sqlToAge(name, 8));
            }
        }
        return acquired;
    }
}
