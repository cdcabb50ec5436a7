package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockNodeRepository.Pulse;
import io.github.holdfast.repository.store.StoreContract;
import io.github.holdfast.repository.store.TestThreads;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What can be done with the row of a node. */
abstract class LockNodeRepositoryContract extends StoreContract {

    static final Duration LEASE = Duration.ofSeconds(30);
    static final Duration SHORT_LEASE = Duration.ofMillis(100);

    final <T> T call(Function<LockNodeRepository, T> work) {
        return application.call(locks -> work.apply(application.store().nodes()));
    }

    final LockNode register(String id, Duration lease) {
        call(nodes -> {
            nodes.register(id, lease, "app at host");
            return true;
        });
        return node(id);
    }

    final LockNodeRepository.Snapshot read(String id) {
        return call(nodes -> nodes.read(id)).orElseThrow(() -> new AssertionError("No row: " + id));
    }

    final LockNode node(String id) {
        return read(id).node();
    }

    final boolean beat(LockNode node, long version) {
        return call(nodes -> nodes.beat(node.id(), version, version + 1, Micros.of(LEASE)) == 1);
    }

    final boolean endIfOverdue(String id) {
        return call(nodes -> nodes.endIfOverdue(id, Duration.ZERO));
    }

    final int end(String id) {
        return call(nodes -> nodes.stop(id, 0, 0));
    }

    final int alert(String id) {
        return call(nodes -> nodes.alert(id));
    }

    private boolean markListening(long bell) {
        return call(nodes -> nodes.markListening("node", bell));
    }

    final boolean markWaiting(String id) {
        return call(nodes -> nodes.markWaiting(id, LEASE, null));
    }

    private void assertUnchanged(LockNode node) {
        assertThat(node(node.id())).usingRecursiveComparison().isEqualTo(node);
    }

    final LockNode overdue(String id) {
        LockNode node = register(id, SHORT_LEASE);
        application.awaitClock(node.expiresAt());
        return node;
    }

    private LockNode ended(String id) {
        register(id, LEASE);
        assertThat(end(id)).isEqualTo(1);
        return node(id);
    }

    // Registering

    @Test
    void aRegisteredNodeLivesForItsLeaseFromNowOn() {
        Instant before = application.clock();
        LockNode node = register("node", LEASE);
        Instant after = application.clock();

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
        assertThat(this.<Optional<LockNodeRepository.Snapshot>>call(nodes -> nodes.read("node")))
                .isEmpty();
    }

    @Test
    void readsTheClockTogetherWithTheNode() {
        LockNode node = register("node", LEASE);
        Instant before = application.clock();
        LockNodeRepository.Snapshot seen = read("node");

        assertThat(seen.dbNow()).isBetween(before, application.clock());
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

    final List<String> page(String after, int limit) {
        return call(nodes -> nodes.page(after, limit)).stream()
                .map(seen -> seen.node().id())
                .toList();
    }

    // Beating

    @Test
    void aBeatExtendsTheLeaseFromNowOn() {
        LockNode node = register("node", LEASE);
        Instant before = application.clock();
        assertThat(beat(node, 0)).isTrue();
        Instant after = application.clock();

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
    void aBeatDoesNotAskTheDatabasesClock() {
        LockNode node = overdue("node");
        assertThat(beat(node, 0)).isTrue();
        assertThat(read("node").isAlive()).isTrue();
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
        assertThat(application.tables().count("HoldfastNode")).isZero();
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
    void aNodeIsStoppedOnceAndLeavesItsLocksAtOnce() {
        LockNode node = register("node", LEASE);
        assertThat(end("node")).isEqualTo(1);
        LockNode after = node("node");
        assertThat(after.isEnded()).isTrue();
        assertThat(after.isStopped()).isTrue();
        assertThat(after.version()).isEqualTo(1);
        assertThat(after)
                .usingRecursiveComparison()
                .ignoringFields("ended", "version", "waitsUntil")
                .isEqualTo(node);

        assertThat(end("node")).isZero();
        assertUnchanged(after);
    }

    @Test
    void anObserverEndsANodeOnlyAtTheVersionThatItHasSeen() {
        LockNode node = register("node", LEASE);
        assertThat(beat(node, 0)).isTrue();
        assertThat(endSilent("node", 0)).as("it has beaten since").isZero();
        assertThat(node("node").isEnded()).isFalse();

        assertThat(endSilent("node", 1)).isEqualTo(1);
        assertThat(node("node").isStopped()).as("its locks are free at once").isTrue();
        assertThat(endSilent("node", 2)).as("a second time").isZero();
        assertThat(beat(node, 1)).isFalse();
    }

    @Test
    void anObserverReadsTheCountersOfAllNodesThatHaveNotEnded() {
        LockNode node = register("node", LEASE);
        assertThat(beat(node, 0)).isTrue();
        overdue("overdue");
        ended("ended");
        Instant before = application.clock();
        List<Pulse> living = call(LockNodeRepository::living);

        assertThat(living).extracting(Pulse::id).containsExactlyInAnyOrder("node", "overdue");
        assertThat(living).allMatch(pulse -> pulse.version() == (pulse.id().equals("node") ? 1 : 0));
        assertThat(living)
                .allMatch(pulse -> pulse.leaseMillis() == (pulse.id().equals("node") ? LEASE : SHORT_LEASE).toMillis());
        assertThat(living).allMatch(pulse -> !pulse.dbNow().isBefore(before));
    }

    private int endSilent(String id, long version) {
        return call(nodes -> nodes.endSilent(id, version));
    }

    private void endByHand(String id) {
        application.tables().update("HoldfastNode", Map.of("ended", true), Map.of("id", id));
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
        Instant before = application.clock();
        assertThat(markWaiting("node")).isTrue();
        Instant after = application.clock();

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
    void aBellThatTheRowHasAlreadyCountsAsWritten() {
        register("node", LEASE);
        boolean isMarked = call(nodes -> nodes.markWaiting("node", LEASE, 7L));
        assertThat(isMarked).isTrue();
        assertThat(markListening(7)).isTrue();
        assertThat(markListening(8)).isTrue();
    }

    @Test
    void anEndedNodeIsNotMarked() {
        LockNode node = ended("node");
        assertThat(markWaiting("node")).isFalse();
        assertThat(markListening(7)).isFalse();
        assertUnchanged(node);
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
    void aStoppedNodeDiffersFromOneThatWasEndedByHand() {
        register("stopped", LEASE);
        register("ended", LEASE);
        register("ended, then stopped", LEASE);
        boolean isMarked = call(nodes -> nodes.markWaiting("stopped", LEASE, null));
        assertThat(isMarked).isTrue();
        assertThat(node("stopped").isStopped()).as("while it lives").isFalse();

        int stopped = call(nodes -> nodes.stop("stopped", 0, 0));
        endByHand("ended");
        endByHand("ended, then stopped");
        int stoppedThen = call(nodes -> nodes.stop("ended, then stopped", 0, 0));

        assertThat(List.of(stopped, stoppedThen)).containsExactly(1, 0);
        assertThat(node("stopped").isEnded()).isTrue();
        assertThat(node("stopped").isStopped()).isTrue();
        assertThat(node("ended").isStopped()).isFalse();
        assertThat(node("ended, then stopped").isStopped()).isFalse();
    }

    @Test
    void aNodeIsEndedOnlyWhenItHasBeenOverdueForTheTolerance() {
        register("node", LEASE);
        application
                .tables()
                .update("HoldfastNode", Map.of("expiresAt", application.clock().minusSeconds(60)));
        boolean early = call(nodes -> nodes.endIfOverdue("node", Duration.ofMinutes(30)));
        assertThat(early).isFalse();
        boolean ended = call(nodes -> nodes.endIfOverdue("node", Duration.ofSeconds(59)));
        assertThat(ended).isTrue();
    }
}
