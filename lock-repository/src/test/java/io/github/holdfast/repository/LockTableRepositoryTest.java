package io.github.holdfast.repository;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** Pages of the tables, what is done with many rows, and what was done to them by force. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS)
class LockTableRepositoryTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration SHORT_LEASE = Duration.ofMillis(100);
    private static final long HOUR = Duration.ofHours(1).toMillis() * 1000;
    private static final long A_WEEK_AGO = -7 * 24 * HOUR;

    private Database database;
    private TestApplication application;

    @BeforeAll
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
    }

    @AfterAll
    void close() {
        application.close();
    }

    @BeforeEach
    void deleteRows() {
        database.execute(
                "delete from distributed_lock",
                "delete from lock_node",
                "delete from lock_holder",
                "delete from lock_waiter",
                "delete from lock_audit");
    }

    private <T> T call(Function<LockPages, T> work) {
        return application.call(locks -> work.apply(application.store().pages()));
    }

    private List<LockSnapshot> held() {
        LockSearch search = application.store().search();
        return application.call(locks -> search.held("", 10));
    }

    private void alive(String id) {
        register(id, LEASE);
    }

    private void register(String id, Duration lease) {
        application.call(locks -> {
            application.store().nodes().register(id, lease, null);
            return true;
        });
    }

    private void ended(String id) {
        register(id, LEASE);
        int stopped = application.call(locks -> application.store().nodes().stop(id, 0, 0));
        assertThat(stopped).isEqualTo(1);
    }

    private void end(String id) {
        int ended = application.call(locks -> application.store().nodes().end(id, 0, 0));
        assertThat(ended).isEqualTo(1);
    }

    private void overdue(String id) {
        register(id, SHORT_LEASE);
        await().pollInterval(Duration.ofMillis(20))
                .until(() -> !application
                        .call(locks -> application.store().nodes().read(id))
                        .orElseThrow()
                        .isAlive());
    }

    private LockEntity grant(
            String name, @Nullable String nodeId, @Nullable Duration lease, @Nullable Duration minimumHold) {
        LockEntity before = application.create(name);
        LockEntity after = before.granted("owner of " + name, nodeId, "holder of " + name);
        // As it was granted when the node still lived, or was there.
        int granted = application.call(locks -> TestApplication.queries(locks)
                .grantWhereNodeIs(
                        name,
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.owner(),
                        nodeId,
                        after.holder(),
                        after.fencingToken(),
                        Micros.orNull(lease),
                        Micros.orNull(minimumHold)));
        assertThat(granted).isEqualTo(1);
        return row(name);
    }

    private LockEntity heldThrough(String nodeId, String name) {
        return grant(name, nodeId, null, null);
    }

    private LockEntity leased(Duration lease, String name) {
        return grant(name, null, lease, null);
    }

    private void expired(String name) {
        LockEntity row = leased(SHORT_LEASE, name);
        await().pollInterval(Duration.ofMillis(20))
                .until(() -> !TestSql.clock(database).isBefore(row.expiresAt()));
    }

    private LockEntity row(String name) {
        return application.read(name).row();
    }

    private void assertUnchanged(LockEntity row) {
        assertThat(row(row.name())).usingRecursiveComparison().isEqualTo(row);
    }

    /** As it will be when some days have passed. */
    private void ageLock(String name, String column, int days) {
        database.execute("update distributed_lock set " + column + " = " + column + " - interval '" + days
                + "' day where name = '" + name + "'");
    }

    private void ageNode(String id, int days) {
        database.execute(
                "update lock_node set expires_at = expires_at - interval '" + days + "' day where id = '" + id + "'");
    }

    private List<String> names(Function<LockPages, List<LockEntity>> work) {
        return call(work).stream().map(LockEntity::name).toList();
    }

    private List<String> ids(Function<LockPages, List<String>> work) {
        return call(work);
    }

    private int count(Function<LockPages, Integer> work) {
        return call(work);
    }

    // Pages

    @Test
    void heldLocksAreThoseWithALeaseOrANodeThatWasNotEnded() {
        alive("alive");
        overdue("overdue");
        ended("ended");
        application.create("free");
        expired("expired");
        leased(LEASE, "leased");
        heldThrough("alive", "of alive");
        heldThrough("overdue", "of overdue");
        heldThrough("ended", "of ended");
        heldThrough("absent", "of absent");

        List<LockSnapshot> held = held();

        assertThat(held).extracting(seen -> seen.row().name()).containsExactly("leased", "of alive", "of overdue");
        assertThat(held.get(0).node()).isNull();
        assertThat(requireNonNull(held.get(1).node()).id()).isEqualTo("alive");
        assertThat(held.get(1).row()).usingRecursiveComparison().isEqualTo(row("of alive"));
        assertThat(held.get(1).dbNow()).isBeforeOrEqualTo(TestSql.clock(database));
    }

    @Test
    void pagesAreInTheOrderOfTheNames() {
        ended("ended");
        for (String name : List.of("c", "a", "B", "e", "d")) {
            heldThrough("ended", name);
        }
        assertThat(names(table -> table.orphans("", 0, 2))).containsExactly("B", "a");
        assertThat(names(table -> table.orphans("a", 0, 2))).containsExactly("c", "d");
        assertThat(names(table -> table.orphans("d", 0, 2))).containsExactly("e");
        assertThat(names(table -> table.orphans("e", 0, 2))).isEmpty();
        assertThat(names(table -> table.heldThrough("ended", "bb", 2))).containsExactly("c", "d");
    }

    @Test
    void heldThroughANodeAreItsLocksDeadOrAlive() {
        overdue("mine");
        alive("theirs");
        heldThrough("mine", "mine 1");
        heldThrough("mine", "mine 2");
        heldThrough("theirs", "theirs");
        leased(LEASE, "leased");
        application.create("free");

        assertThat(names(table -> table.heldThrough("mine", "", 10))).containsExactly("mine 1", "mine 2");
        end("mine");
        assertThat(names(table -> table.heldThrough("mine", "mine 1", 10))).containsExactly("mine 2");
        assertThat(names(table -> table.heldThrough("absent", "", 10))).isEmpty();
    }

    @Test
    void orphansAreWhatNodesHoldThatWereEndedOrAreAbsent() {
        alive("alive");
        overdue("overdue");
        ended("ended");
        heldThrough("alive", "of alive");
        heldThrough("overdue", "of overdue");
        heldThrough("ended", "of ended");
        register("ended early", LEASE);
        database.execute("update lock_node set ended = true where id = 'ended early'");
        heldThrough("ended early", "of ended early");
        LockEntity orphan = heldThrough("absent", "of absent");
        heldThrough("absent", "of one that has just gone");
        database.execute("update distributed_lock set expires_at = acquired_at + interval '60' second"
                + " where name = 'of one that has just gone'");
        expired("expired");
        application.create("free");

        List<LockEntity> orphans = call(table -> table.orphans("", 0, 10));

        assertThat(orphans).extracting(LockEntity::name).containsExactly("of absent", "of ended");
        assertThat(orphans.get(0)).usingRecursiveComparison().isEqualTo(orphan);
    }

    @Test
    void overdueNodesAreThoseThatNobodyHasEndedYet() {
        alive("alive");
        ended("ended");
        for (String id : List.of("b", "a", "c")) {
            overdue(id);
        }
        assertThat(ids(table -> table.overdueNodes("", 0, 2))).containsExactly("a", "b");
        assertThat(ids(table -> table.overdueNodes("b", 0, 2))).containsExactly("c");
        end("a");
        assertThat(ids(table -> table.overdueNodes("", 0, 2))).containsExactly("b", "c");
    }

    @Test
    void idleLocksAreThoseThatNobodyHasHeldOrKeptUnavailableSince() {
        application.create("free");
        application.create("young");
        expired("expired");
        leased(Duration.ofDays(30), "leased");
        alive("alive");
        heldThrough("alive", "of alive");
        grant("unavailable", null, SHORT_LEASE, Duration.ofDays(1));
        grant("available since", null, SHORT_LEASE, Duration.ofMillis(100));
        for (String name : List.of("free", "expired", "leased", "of alive", "unavailable", "available since")) {
            ageLock(name, "expires_at", 8);
        }
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 10))).containsExactly("expired", "free");
        ageLock("available since", "available_at", 8);
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 10)))
                .containsExactly("available since", "expired", "free");
        assertThat(names(table -> table.idle("expired", A_WEEK_AGO, 10))).containsExactly("free");
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 1))).containsExactly("available since");
    }

    @Test
    void idleMeansLongerThanTheGivenTime() {
        application.create("free");
        ageLock("free", "expires_at", 7);

        assertThat(names(table -> table.idle("", A_WEEK_AGO - HOUR, 10))).isEmpty();
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 10))).containsExactly("free");
    }

    @Test
    void idleNodesAreThoseThatWereEndedAndWhoseLeaseIsOverSince() {
        ended("ended");
        ended("young");
        overdue("overdue");
        ended("another");
        List.of("ended", "overdue", "another").forEach(id -> ageNode(id, 8));

        assertThat(ids(table -> table.idleNodes("", A_WEEK_AGO, 10))).containsExactly("another", "ended");
        assertThat(ids(table -> table.idleNodes("another", A_WEEK_AGO, 10))).containsExactly("ended");
        assertThat(ids(table -> table.idleNodes("", A_WEEK_AGO, 1))).containsExactly("another");
    }

    @Test
    void nodesThatLocksNameAreToldOnce() {
        heldThrough("one", "a");
        heldThrough("one", "b");
        heldThrough("two", "c");
        application.create("free");

        assertThat(ids(table -> table.named(List.of("one", "two", "three")))).containsExactlyInAnyOrder("one", "two");
        assertThat(ids(table -> table.named(List.of("three")))).isEmpty();
    }

    @Test
    void pagesAreReadWhileRowsAreLocked() throws Exception {
        alive("alive");
        LockEntity row = heldThrough("alive", "locked");
        try (OtherClient other = OtherClient.lockingRow(database, "locked")) {
            other.execute(TestSql.touch("locked"));

            assertThat(held())
                    .singleElement()
                    .satisfies(seen -> assertThat(seen.row().version()).isEqualTo(row.version()));
            assertThat(names(table -> table.heldThrough("alive", "", 10))).containsExactly("locked");
        }
    }

    // Many rows

    @Test
    void rowsThatAnotherTransactionHasLockedArePassedOver() throws Exception {
        List<String> all = List.of("a", "b", "c", "absent");
        List.of("a", "b", "c").forEach(application::create);
        try (OtherClient other = OtherClient.lockingRow(database, "b")) {
            assertThat(names(table -> table.lockUnlockedRows(all))).containsExactlyInAnyOrder("a", "c");
            other.commit();
        }
        assertThat(names(table -> table.lockUnlockedRows(all))).containsExactlyInAnyOrder("a", "b", "c");
    }

    @Test
    void rowsStayLockedUntilTheTransactionEnds() throws Exception {
        List<String> names = List.of("a");
        application.create("a");
        try (TestThreads threads = new TestThreads()) {
            Future<List<String>> meanwhile = application.call(locks -> {
                assertThat(application.store().pages().lockUnlockedRows(names)).hasSize(1);
                Future<List<String>> other = threads.start(() -> names(table -> table.lockUnlockedRows(names)));
                await().until(other::isDone);
                return other;
            });
            assertThat(meanwhile.get(60, TimeUnit.SECONDS)).isEmpty();
        }
        assertThat(names(table -> table.lockUnlockedRows(names))).containsExactly("a");
    }

    @Test
    void lockedRowsAreShownAsTheyStandAlthoughTheyWereReadBefore() throws Exception {
        LockEntity row = heldThrough("absent", "a");
        try (OtherClient other = OtherClient.of(database)) {
            LockEntity locked = application.call(locks -> {
                assertThat(application.store().pages().orphans("", 0, 10)).hasSize(1);
                other.commitUnchecked(TestSql.touch("a"));
                return application
                        .store()
                        .pages()
                        .lockUnlockedRows(List.of("a"))
                        .get(0);
            });
            assertThat(locked.version()).isEqualTo(row.version() + 1);
        }
    }

    @Test
    void vacatedLocksAreFreeWithANewToken() {
        LockEntity one = heldThrough("absent", "one");
        LockEntity another = heldThrough("absent", "another");
        LockEntity untouched = heldThrough("absent", "untouched");
        Instant before = TestSql.clock(database);
        assertThat(count(table -> table.takeFromHolder(List.of("one", "another", "none"), 0)))
                .isEqualTo(2);
        Instant after = TestSql.clock(database);

        for (LockEntity held : List.of(one, another)) {
            LockEntity row = row(held.name());
            assertVacated(row, held);
            assertThat(row.expiresAt()).isBetween(before, after);
            assertThat(row.availableAt()).isBetween(before, after);
        }
        assertUnchanged(untouched);
    }

    private static void assertVacated(LockEntity row, LockEntity held) {
        assertThat(row)
                .usingRecursiveComparison()
                .ignoringFields("expiresAt", "availableAt")
                .isEqualTo(held.takenFromHolder());
        assertThat(row.owner()).isNull();
        assertThat(row.fencingToken()).isEqualTo(held.fencingToken() + 1);
        assertThat(row.version()).isEqualTo(held.version() + 1);
        assertThat(row.acquiredAt()).isNotNull().isEqualTo(held.acquiredAt());
    }

    @Test
    void vacatedLocksAreNotAvailableBeforeTheDelayIsOverNorBeforeTheyWereToBe() {
        heldThrough("absent", "delayed");
        LockEntity minimumHold = grant("minimum hold", "absent", null, Duration.ofHours(1));
        Instant before = TestSql.clock(database);
        count(table -> table.takeFromHolder(List.of("delayed", "minimum hold"), 60_000_000));
        Instant after = TestSql.clock(database);

        assertThat(row("delayed").availableAt()).isBetween(before.plusSeconds(60), after.plusSeconds(60));
        assertThat(row("minimum hold").availableAt()).isNotNull().isEqualTo(minimumHold.availableAt());
        count(table -> table.takeFromHolder(List.of("minimum hold"), 2 * HOUR));
        assertThat(row("minimum hold").availableAt()).isAfter(minimumHold.availableAt());
    }

    @Test
    void purgedLocksAreGoneAndOthersStay() {
        List.of("a", "b", "c").forEach(application::create);
        assertThat(count(table -> table.purge(List.of("a", "c", "none")))).isEqualTo(2);
        assertThat(database.queryForString("select name from distributed_lock")).isEqualTo("b");
        assertThat(database.queryForLong("select count(*) from distributed_lock"))
                .isEqualTo(1);
    }

    @Test
    void onlyNodesThatWereEndedArePurged() {
        alive("alive");
        overdue("overdue");
        ended("ended");
        ended("another");
        assertThat(count(table -> table.purgeNodes(List.of("alive", "overdue", "ended", "none"))))
                .isEqualTo(1);
        assertThat(database.queryForLong("select count(*) from lock_node where id in ('alive', 'overdue', 'another')"))
                .isEqualTo(3);
        assertThat(database.queryForLong("select count(*) from lock_node")).isEqualTo(3);
    }

    // One row that is held through a node

    @Test
    void recountWritesTheHoldCountAndNothingElse() {
        LockEntity held = heldThrough("absent", "job");
        assertThat(recount(held, held.withHoldCount(3))).isTrue();

        assertThat(row("job"))
                .usingRecursiveComparison()
                .ignoringFields("holdCount", "version")
                .isEqualTo(held);
        assertThat(row("job").holdCount()).isEqualTo(3);
        assertThat(row("job").version()).isEqualTo(held.version() + 1);
        assertThat(recount(held, held.withHoldCount(4)))
                .as("from an old version")
                .isFalse();
        assertThat(row("job").holdCount()).isEqualTo(3);
    }

    private boolean recount(LockEntity before, LockEntity after) {
        return application.call(locks -> locks.recount(before, after));
    }

    @Test
    void vacateTakesALockFromItsHolder() {
        for (LockEntity held : List.of(heldThrough("absent", "through a node"), leased(LEASE, "leased"))) {
            Instant before = TestSql.clock(database);
            assertThat(takeFromHolder(held, Duration.ofSeconds(60))).isTrue();
            Instant after = TestSql.clock(database);

            LockEntity row = row(held.name());
            assertVacated(row, held);
            assertThat(row.expiresAt()).isBetween(before, after);
            assertThat(row.availableAt()).isBetween(before.plusSeconds(60), after.plusSeconds(60));
            assertThat(takeFromHolder(held, Duration.ZERO)).as("again").isFalse();
            assertUnchanged(row);
        }
    }

    private boolean takeFromHolder(LockEntity held, Duration delay) {
        return application.call(locks -> locks.takeFromHolder(held, held.takenFromHolder(), delay));
    }

    @Test
    void vacateKeepsALongerTimeInWhichTheLockIsNotAvailable() {
        LockEntity held = grant("job", null, LEASE, Duration.ofHours(1));
        assertThat(takeFromHolder(held, Duration.ofSeconds(1))).isTrue();
        assertThat(row("job").availableAt()).isNotNull().isEqualTo(held.availableAt());
    }

    @Test
    void vacateMissesARowThatHasMovedOn() {
        LockEntity held = leased(LEASE, "job");
        application.call(locks -> locks.supersede("job", held.version()));
        LockEntity row = row("job");
        assertThat(takeFromHolder(held, Duration.ZERO)).isFalse();
        assertUnchanged(row);
    }

    // The record of what was forced

    @Test
    void aForcedReleaseIsRecordedByTheDatabasesClock() {
        LockEntity held = heldThrough("node 1", "job");
        Instant before = TestSql.clock(database);
        recordForced(held);
        Instant after = TestSql.clock(database);

        assertThat(database.queryForLong("select count(*) from lock_audit where action = 'FORCED_RELEASE'"
                        + " and lock_name = 'job' and owner = 'owner of job' and node_id = 'node 1'"
                        + " and holder = 'holder of job' and done_by = 'me' and reason = 'stuck' and fencing_token = "
                        + held.fencingToken()))
                .isEqualTo(1);
        String query = TestSql.instant(database.kind(), "done_at", "job")
                .replace("from distributed_lock where name", "from lock_audit where lock_name");
        assertThat(Instant.parse(requireNonNull(database.queryForString(query))))
                .isBetween(before, after);
    }

    private void recordForced(LockEntity held) {
        application.call(locks -> {
            locks.recordForcedRelease(held, "me", "stuck");
            return true;
        });
    }

    @Test
    void onlyTheGrantThatWasForcedCountsAsForced() {
        LockEntity held = leased(LEASE, "job");
        leased(LEASE, "another");
        assertThat(wasForced("job", held.fencingToken())).isFalse();
        recordForced(held);

        assertThat(wasForced("job", held.fencingToken())).isTrue();
        assertThat(wasForced("job", held.fencingToken() + 1)).isFalse();
        assertThat(wasForced("another", held.fencingToken())).isFalse();
        recordForced(held);
        assertThat(wasForced("job", held.fencingToken())).as("recorded twice").isTrue();
    }

    private boolean wasForced(String name, long token) {
        return application.call(locks -> locks.wasForced(name, token));
    }

    @Test
    void aRecordIsKeptOnlyIfTheTransactionCommits() {
        LockEntity held = leased(LEASE, "job");
        assertThatThrownBy(() -> application.call(locks -> {
                    locks.recordForcedRelease(held, "me", "stuck");
                    throw StoreException.overtaken();
                }))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        thrown -> assertThat(thrown.failure()).isEqualTo(Failure.CONFLICT));
        assertThat(wasForced("job", held.fencingToken())).isFalse();
    }

    // Statements

    @Test
    void eachMethodIsOneStatement() {
        assertOneStatement("select ", table -> application.store().search().held("", 10));
        assertOneStatement("select ", table -> table.heldThrough("node", "", 10));
        assertOneStatement("select ", table -> table.overdueNodes("", 0, 10));
        assertOneStatement("select ", table -> table.orphans("", 0, 10));
        assertOneStatement("select ", table -> table.idle("", A_WEEK_AGO, 10));
        assertOneStatement("select ", table -> table.idleNodes("", A_WEEK_AGO, 10));
        assertOneStatement("select ", table -> table.named(List.of("a", "b")));
        assertOneStatement("select ", table -> table.lockUnlockedRows(List.of("a", "b")));
        assertOneStatement("update distributed_lock", table -> table.takeFromHolder(List.of("a", "b"), 0));
        assertOneStatement("delete ", table -> table.purge(List.of("a", "b")));
        assertOneStatement("delete ", table -> table.purgeNodes(List.of("a", "b")));
    }

    private void assertOneStatement(String begin, Function<LockPages, ?> work) {
        application.dataSource().reset();
        call(work);
        assertThat(application.dataSource().sql())
                .singleElement()
                .satisfies(sql -> assertThat(sql).startsWith(begin));
        assertThat(application.dataSource().commits()).isEqualTo(1);
    }
}
