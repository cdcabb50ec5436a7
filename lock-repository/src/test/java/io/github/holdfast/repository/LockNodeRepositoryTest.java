package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What can be done with the row of a node. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
@TestInstance(Lifecycle.PER_CLASS)
class LockNodeRepositoryTest {

    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final Duration SHORT_LEASE = Duration.ofMillis(100);

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
                "delete from lock_waiter");
    }

    private <T> T call(Function<NodeRows, T> work) {
        return application.call(locks -> work.apply(application.store().nodes()));
    }

    private LockNode register(String id, Duration lease) {
        call(nodes -> {
            nodes.register(id, lease, "app at host");
            return true;
        });
        return node(id);
    }

    private NodeRows.Snapshot read(String id) {
        return call(nodes -> nodes.read(id)).orElseThrow(() -> new AssertionError("No row: " + id));
    }

    private LockNode node(String id) {
        return read(id).node();
    }

    private boolean beat(LockNode node, long version) {
        return call(nodes -> nodes.beat(node.id(), version, version + 1, Micros.of(LEASE)) == 1);
    }

    private boolean endIfOverdue(String id) {
        return call(nodes -> nodes.endIfOverdue(id, Duration.ZERO));
    }

    private int end(String id) {
        return call(nodes -> nodes.end(id, 0, 0));
    }

    private int alert(String id) {
        return call(nodes -> nodes.alert(id));
    }

    private boolean markWaiting(String id) {
        return call(nodes -> nodes.markWaiting(id, LEASE, null));
    }

    private void assertUnchanged(LockNode node) {
        assertThat(node(node.id())).usingRecursiveComparison().isEqualTo(node);
    }

    private LockNode overdue(String id) {
        LockNode node = register(id, SHORT_LEASE);
        await().pollInterval(Duration.ofMillis(20)).until(() -> !read(id).isAlive());
        return node;
    }

    private LockNode ended(String id) {
        register(id, LEASE);
        assertThat(end(id)).isEqualTo(1);
        return node(id);
    }

    private Instant clock() {
        return TestSql.clock(database);
    }

    // Registering

    @Test
    void aRegisteredNodeLivesForItsLeaseFromNowOn() {
        Instant before = clock();
        LockNode node = register("node", LEASE);
        Instant after = clock();

        assertThat(node.id()).isEqualTo("node");
        assertThat(node.startedAt()).isBetween(before, after);
        assertThat(node.expiresAt()).isBetween(before.plus(LEASE), after.plus(LEASE));
        assertThat(node.isEnded()).isFalse();
        assertThat(node.description()).isEqualTo("app at host");
        assertThat(node.version()).isZero();
    }

    @Test
    void aDescriptionMayBeMissing() {
        call(nodes -> {
            nodes.register("node", LEASE, null);
            return true;
        });
        assertThat(node("node").description()).isNull();
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT0.000001S", "PT0.000000001S", "PT123.456789012S", "P1D"})
    void leaseIsRoundedUpToMicroseconds(Duration lease) {
        LockNode node = register("node", lease);
        // The clock may go on between the two, but never back.
        assertThat(Duration.between(node.startedAt(), node.expiresAt()))
                .isBetween(lease, lease.plusSeconds(1))
                .isGreaterThanOrEqualTo(Duration.ofNanos(1000));
    }

    @Test
    void anIdIsNeverRegisteredTwice() {
        LockNode node = ended("node");
        assertThatThrownBy(() -> register("node", LEASE))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        refused -> assertThat(refused.failure()).isEqualTo(Failure.CONFLICT));
        assertUnchanged(node);
    }

    // Reading

    @Test
    void readsNothingWhereThereIsNoRow() {
        assertThat(this.<Optional<NodeRows.Snapshot>>call(nodes -> nodes.read("node")))
                .isEmpty();
    }

    @Test
    void readsTheClockTogetherWithTheNode() {
        LockNode node = register("node", LEASE);
        Instant before = clock();
        NodeRows.Snapshot seen = read("node");

        assertThat(seen.dbNow()).isBetween(before, clock());
        assertThat(seen.isAlive()).isTrue();
        assertThat(seen.expiresIn()).isEqualTo(Duration.between(seen.dbNow(), node.expiresAt()));
    }

    @Test
    void aNodeIsDeadFromTheEndOfItsLeaseOnOrOnceItIsEnded() {
        overdue("overdue");
        ended("ended");

        assertThat(read("overdue").isAlive()).isFalse();
        assertThat(read("overdue").expiresIn()).isZero();
        assertThat(read("overdue").node().isEnded()).isFalse();
        assertThat(read("ended").isAlive()).isFalse();
    }

    @Test
    void pagesAreInTheOrderOfTheIds() {
        List.of("c", "a", "B", "e", "d").forEach(id -> register(id, LEASE));
        overdue("f");
        ended("g");

        assertThat(page("", 3)).containsExactly("B", "a", "c");
        assertThat(page("c", 3)).containsExactly("d", "e", "f");
        assertThat(page("f", 3)).containsExactly("g");
        assertThat(page("g", 3)).isEmpty();
        assertThat(page("bb", 1)).as("after an id that is not there").containsExactly("c");
    }

    private List<String> page(String after, int limit) {
        return call(nodes -> nodes.page(after, limit)).stream()
                .map(seen -> seen.node().id())
                .toList();
    }

    // Beating

    @Test
    void aBeatExtendsTheLeaseFromNowOn() {
        LockNode node = register("node", LEASE);
        Instant before = clock();
        assertThat(beat(node, 0)).isTrue();
        Instant after = clock();

        LockNode beaten = node("node");
        assertThat(beaten.expiresAt()).isBetween(before.plus(LEASE), after.plus(LEASE));
        assertThat(beaten.version()).isEqualTo(1);
        assertThat(beaten)
                .usingRecursiveComparison()
                .ignoringFields("expiresAt", "version")
                .isEqualTo(node);
    }

    @Test
    void aBeatThatIsBasedOnAnotherVersionMisses() {
        LockNode node = register("node", LEASE);
        assertThat(beat(node, 1)).isFalse();
        assertThat(beat(node, -1)).isFalse();
        assertUnchanged(node);

        assertThat(beat(node, 0)).isTrue();
        assertThat(beat(node, 0)).as("the same beat again").isFalse();
        assertThat(node("node").version()).isEqualTo(1);
    }

    @Test
    void aBeatDoesNotReviveANodeWhoseLeaseIsOver() {
        LockNode node = overdue("node");
        assertThat(beat(node, 0)).isFalse();
        assertUnchanged(node);
    }

    @Test
    void aBeatDoesNotReviveANodeThatWasEnded() {
        LockNode node = ended("node");
        assertThat(beat(node, node.version())).isFalse();
        assertUnchanged(node);
    }

    @Test
    void nothingIsDoneToANodeThatIsAbsent() {
        assertThat(this.<Integer>call(nodes -> nodes.beat("node", 0, 1, Micros.of(LEASE))))
                .isZero();
        assertThat(endIfOverdue("node")).isFalse();
        assertThat(end("node")).isZero();
        assertThat(alert("node")).isZero();
        assertThat(markWaiting("node")).isFalse();
        assertThat(database.queryForLong("select count(*) from lock_node")).isZero();
    }

    @Test
    void oneNodesBeatIsNoOthers() {
        LockNode mine = register("mine", LEASE);
        LockNode theirs = register("theirs", LEASE);
        assertThat(beat(mine, 0)).isTrue();
        assertUnchanged(theirs);
    }

    // Ending

    @Test
    void onlyANodeWhoseLeaseIsOverIsEndedAsOverdue() {
        LockNode alive = register("alive", LEASE);
        LockNode ended = ended("ended");
        LockNode overdue = overdue("overdue");
        for (LockNode node : List.of(alive, ended)) {
            assertThat(endIfOverdue(node.id())).as(node.id()).isFalse();
            assertUnchanged(node);
        }
        assertThat(endIfOverdue("overdue")).isTrue();

        LockNode after = node("overdue");
        assertThat(after.isEnded()).isTrue();
        assertThat(after.version()).isEqualTo(1);
        assertThat(after)
                .usingRecursiveComparison()
                .ignoringFields("ended", "version")
                .isEqualTo(overdue);
        assertThat(endIfOverdue("overdue")).isFalse();
    }

    @Test
    void aNodeIsEndedOnceAndItsLeaseWithIt() {
        LockNode node = register("node", LEASE);
        assertThat(end("node")).isEqualTo(1);
        LockNode after = node("node");
        assertThat(after.isEnded()).isTrue();
        assertThat(after.version()).isEqualTo(1);
        assertThat(after.expiresAt()).isBeforeOrEqualTo(TestSql.clock(database));
        assertThat(after)
                .usingRecursiveComparison()
                .ignoringFields("ended", "version", "expiresAt")
                .isEqualTo(node);

        assertThat(end("node")).isZero();
        assertUnchanged(after);
    }

    @Test
    void theEndOfANodeDoesNotExtendItsLease() {
        register("node", LEASE);
        database.execute("update lock_node set expires_at = started_at");
        assertThat(end("node")).isEqualTo(1);
        assertThat(node("node").expiresAt()).isEqualTo(node("node").startedAt());
    }

    @Test
    void anAlertMovesTheVersionOnAndNothingElse() {
        LockNode node = register("node", LEASE);
        assertThat(alert("node")).isEqualTo(1);

        assertThat(node("node"))
                .usingRecursiveComparison()
                .ignoringFields("version")
                .isEqualTo(node);
        assertThat(node("node").version()).isEqualTo(1);
        assertThat(beat(node, 0)).as("the next beat").isFalse();
        assertThat(beat(node, 1)).isTrue();
    }

    @Test
    void anEndedNodeIsNotAlerted() {
        LockNode node = ended("node");
        assertThat(alert("node")).isZero();
        assertUnchanged(node);
    }

    // Waiting

    @Test
    void aMarkLastsFromNowOnAndChangesNothingElse() {
        LockNode node = register("node", LEASE);
        LockNode other = register("other", LEASE);
        assertThat(node.waitsUntil()).isNull();
        Instant before = clock();
        assertThat(markWaiting("node")).isTrue();
        Instant after = clock();

        LockNode marked = node("node");
        assertThat(marked.waitsUntil()).isBetween(before.plus(LEASE), after.plus(LEASE));
        assertThat(marked)
                .usingRecursiveComparison()
                .ignoringFields("waitsUntil")
                .isEqualTo(node);
        assertUnchanged(other);
    }

    @Test
    void aBeatThatWasDecidedBeforeAMarkStillHappensAndLeavesItAlone() {
        LockNode node = register("node", LEASE);
        assertThat(markWaiting("node")).isTrue();
        LockNode marked = node("node");
        assertThat(beat(node, 0)).isTrue();

        assertThat(node("node").waitsUntil()).isEqualTo(marked.waitsUntil());
        assertThat(node("node").version()).isEqualTo(1);
    }

    @Test
    void anEndedNodeIsNotMarked() {
        LockNode node = ended("node");
        assertThat(markWaiting("node")).isFalse();
        assertUnchanged(node);
    }

    @Test
    void aBeatWaitsForAMarkThatIsOnItsWayAndHappensThen() throws Exception {
        LockNode node = register("node", LEASE);
        try (OtherClient marking = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            marking.execute("update lock_node set waits_until = expires_at where id = 'node'");
            Future<Boolean> beaten = threads.start(() -> beat(node, 0));
            assertThatThrownBy(() -> beaten.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            marking.commit();

            assertThat(beaten.get(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    // At the same time

    @Test
    void afterABeatAndAnEndAtTheSameTimeTheNodeIsEnded() throws Exception {
        try (TestThreads threads = new TestThreads()) {
            for (int round = 0; round < 20; round++) {
                LockNode node = register("node " + round, LEASE);
                Future<Boolean> beaten = threads.start(() -> beat(node, 0));
                Future<Integer> ended = threads.start(() -> end(node.id()));

                assertThat(ended.get(60, TimeUnit.SECONDS)).isEqualTo(1);
                boolean wasFirst = beaten.get(60, TimeUnit.SECONDS);
                LockNode after = node(node.id());
                assertThat(after.isEnded()).isTrue();
                assertThat(after.version()).isEqualTo(wasFirst ? 2 : 1);
            }
        }
    }

    @Test
    void theEndOfAnOverdueNodeWaitsForAHeartbeatThatIsOnItsWayAndDoesNotHappenThen() throws Exception {
        overdue("node");
        try (OtherClient beating = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            beating.execute("update lock_node set expires_at = expires_at + interval '60' second,"
                    + " version = version + 1 where id = 'node'");
            Future<Boolean> ended = threads.start(() -> endIfOverdue("node"));
            assertThatThrownBy(() -> ended.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            beating.commit();

            assertThat(ended.get(60, TimeUnit.SECONDS)).isFalse();
        }
        assertThat(read("node").isAlive()).isTrue();
    }

    @Test
    void aBeatWaitsForAnEndThatIsOnItsWayAndMissesThen() throws Exception {
        LockNode node = register("node", LEASE);
        try (OtherClient ending = OtherClient.of(database);
                TestThreads threads = new TestThreads()) {
            ending.execute("update lock_node set ended = (1 = 1), version = version + 1 where id = 'node'");
            Future<Boolean> beaten = threads.start(() -> beat(node, 0));
            assertThatThrownBy(() -> beaten.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(TimeoutException.class);
            ending.commit();

            assertThat(beaten.get(60, TimeUnit.SECONDS)).isFalse();
        }
        assertThat(node("node").isEnded()).isTrue();
    }

    @Test
    void whoWasStoppedIsToldFromWhoWasEnded() {
        register("stopped", LEASE);
        register("ended", LEASE);
        register("ended, then stopped", LEASE);
        boolean isMarked = call(nodes -> nodes.markWaiting("stopped", LEASE, null));
        assertThat(isMarked).isTrue();
        assertThat(node("stopped").isStopped()).as("while it lives").isFalse();

        int stopped = call(nodes -> nodes.stop("stopped", 0, 0));
        int ended = call(nodes -> nodes.end("ended", 0, 0));
        int endedBefore = call(nodes -> nodes.end("ended, then stopped", 0, 0));
        int stoppedThen = call(nodes -> nodes.stop("ended, then stopped", 0, 0));

        assertThat(List.of(stopped, ended, endedBefore, stoppedThen)).containsExactly(1, 1, 1, 0);
        assertThat(node("stopped").isEnded()).isTrue();
        assertThat(node("stopped").isStopped()).isTrue();
        assertThat(node("ended").isStopped()).isFalse();
        assertThat(node("ended, then stopped").isStopped()).isFalse();
    }

    @Test
    void aNodeIsEndedOnlyWhenItHasBeenOverdueForTheTolerance() {
        register("node", LEASE);
        database.execute("update lock_node set expires_at = started_at - interval '60' second where id = 'node'");
        boolean early = call(nodes -> nodes.endIfOverdue("node", Duration.ofMinutes(30)));
        assertThat(early).isFalse();
        boolean ended = call(nodes -> nodes.endIfOverdue("node", Duration.ofSeconds(59)));
        assertThat(ended).isTrue();
    }

    // Statements

    @Test
    void eachMethodIsOneStatement() {
        register("node", LEASE);
        assertOneStatement("select ", nodes -> nodes.read("node"));
        assertOneStatement("select ", nodes -> nodes.page("", 10));
        assertOneStatement("insert into lock_node", nodes -> {
            nodes.register("another", LEASE, null);
            return true;
        });
        assertOneStatement("update lock_node", nodes -> nodes.beat("node", 0, 1, Micros.of(LEASE)));
        assertOneStatement("update lock_node", nodes -> nodes.alert("node"));
        assertOneStatement("update lock_node", nodes -> nodes.markWaiting("node", LEASE, 7L));
        assertOneStatement("update lock_node", nodes -> nodes.endIfOverdue("node", LEASE));
        assertOneStatement("update lock_node", nodes -> nodes.stop("node", 0, 0));
        assertOneStatement("update lock_node", nodes -> nodes.end("node", 0, 0));
    }

    private void assertOneStatement(String begin, Function<NodeRows, ?> work) {
        application.dataSource().reset();
        call(work);
        assertThat(application.dataSource().sql())
                .singleElement()
                .satisfies(sql -> assertThat(sql).startsWith(begin).doesNotContain(" for "));
        assertThat(application.dataSource().commits()).isEqualTo(1);
    }
}
