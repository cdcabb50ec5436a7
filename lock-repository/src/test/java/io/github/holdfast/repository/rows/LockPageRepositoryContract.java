package io.github.holdfast.repository.rows;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.memory.Row;
import io.github.holdfast.repository.store.StoreContract;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Pages of the tables, what is done with many rows, and what was done to them by force. */
abstract class LockPageRepositoryContract extends StoreContract {

    static final Duration LEASE = Duration.ofSeconds(30);
    static final Duration SHORT_LEASE = Duration.ofMillis(100);
    static final long HOUR = Duration.ofHours(1).toMillis() * 1000;
    static final long A_WEEK_AGO = -7 * 24 * HOUR;

    final <T> T call(Function<LockPageRepository, T> work) {
        return application.call(locks -> work.apply(application.store().pages()));
    }

    final List<LockSnapshot> held() {
        LockSearchRepository search = application.store().search();
        return application.call(locks -> search.held("", 10));
    }

    final void alive(String id) {
        application.register(id, LEASE);
    }

    private void ended(String id) {
        application.register(id, LEASE);
        int stopped = application.call(locks -> application.store().nodes().stop(id, 0, 0));
        assertThat(stopped).isEqualTo(1);
    }

    private void end(String id) {
        int ended = application.call(locks -> application.store().nodes().stop(id, 0, 0));
        assertThat(ended).isEqualTo(1);
    }

    private void overdue(String id) {
        application.register(id, SHORT_LEASE);
        application.awaitClock(application.clock().plus(SHORT_LEASE));
    }

    private LockEntity grant(
            String name, @Nullable String nodeId, @Nullable Duration lease, @Nullable Duration minimumHold) {
        LockEntity before = application.create(name);
        LockEntity after = before.granted("owner of " + name, null, "holder of " + name);
        boolean granted = application.call(locks ->
                locks.grant(before, before.granted("owner of " + name, null, after.holder()), lease, minimumHold));
        assertThat(granted).isTrue();
        if (nodeId != null) {
            // As it was granted when the node still lived, or was there.
            application.tables().update("HoldfastLock", Map.of("nodeId", nodeId), Map.of("name", name));
        }
        return row(name);
    }

    final LockEntity heldThrough(String nodeId, String name) {
        return grant(name, nodeId, null, null);
    }

    private LockEntity leased(Duration lease, String name) {
        return grant(name, null, lease, null);
    }

    private void expired(String name) {
        LockEntity row = leased(SHORT_LEASE, name);
        application.awaitClock(requireNonNull(row.expiresAt()));
    }

    final LockEntity row(String name) {
        return application.read(name).row();
    }

    private void assertUnchanged(LockEntity row) {
        assertThat(row(row.name())).usingRecursiveComparison().isEqualTo(row);
    }

    /** As it will be when some days have passed. */
    private void ageLock(String name, String column, int days) {
        if (!(Row.get(row(name), column) instanceof Instant before)) {
            return;
        }
        application
                .tables()
                .update("HoldfastLock", Map.of(column, before.minus(Duration.ofDays(days))), Map.of("name", name));
    }

    private void ageNode(String id, int days) {
        Instant before = application
                .call(locks -> application.store().nodes().read(id))
                .orElseThrow()
                .node()
                .expiresAt();
        application
                .tables()
                .update("HoldfastNode", Map.of("expiresAt", before.minus(Duration.ofDays(days))), Map.of("id", id));
    }

    final List<String> names(Function<LockPageRepository, List<LockEntity>> work) {
        return call(work).stream().map(LockEntity::name).toList();
    }

    private List<String> ids(Function<LockPageRepository, List<String>> work) {
        return call(work);
    }

    private int count(Function<LockPageRepository, Integer> work) {
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
        assertThat(held.get(1).dbNow()).isBeforeOrEqualTo(application.clock());
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
        application.register("ended early", LEASE);
        application.tables().update("HoldfastNode", Map.of("ended", true), Map.of("id", "ended early"));
        heldThrough("ended early", "of ended early");
        LockEntity orphan = heldThrough("absent", "of absent");
        heldThrough("absent", "of one that has just gone");
        application
                .tables()
                .update(
                        "HoldfastLock",
                        Map.of("expiresAt", application.clock().plusSeconds(60)),
                        Map.of("name", "of one that has just gone"));
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
            ageLock(name, "expiresAt", 8);
        }
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 10))).containsExactly("expired", "free");
        ageLock("available since", "availableAt", 8);
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 10)))
                .containsExactly("available since", "expired", "free");
        assertThat(names(table -> table.idle("expired", A_WEEK_AGO, 10))).containsExactly("free");
        assertThat(names(table -> table.idle("", A_WEEK_AGO, 1))).containsExactly("available since");
    }

    @Test
    void idleMeansLongerThanTheGivenTime() {
        application.create("free");
        ageLock("free", "expiresAt", 7);

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

    // Many rows

    @Test
    void vacatedLocksAreFreeWithANewToken() {
        LockEntity one = heldThrough("absent", "one");
        LockEntity another = heldThrough("absent", "another");
        LockEntity untouched = heldThrough("absent", "untouched");
        Instant before = application.clock();
        assertThat(count(table -> table.takeFromHolder(List.of("one", "another", "none"), 0)))
                .isEqualTo(2);
        Instant after = application.clock();

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
        Instant before = application.clock();
        count(table -> table.takeFromHolder(List.of("delayed", "minimum hold"), 60_000_000));
        Instant after = application.clock();

        assertThat(row("delayed").availableAt()).isBetween(before.plusSeconds(60), after.plusSeconds(60));
        assertThat(row("minimum hold").availableAt()).isNotNull().isEqualTo(minimumHold.availableAt());
        count(table -> table.takeFromHolder(List.of("minimum hold"), 2 * HOUR));
        assertThat(row("minimum hold").availableAt()).isAfter(minimumHold.availableAt());
    }

    @Test
    void purgedLocksAreGoneAndOthersStay() {
        List.of("a", "b", "c").forEach(application::create);
        assertThat(count(table -> table.purge(List.of("a", "c", "none")))).isEqualTo(2);
        assertThat(application.tables().count("HoldfastLock", Map.of("name", "b")))
                .isEqualTo(1);
        assertThat(application.tables().count("HoldfastLock")).isEqualTo(1);
    }

    @Test
    void onlyNodesThatWereEndedArePurged() {
        alive("alive");
        overdue("overdue");
        ended("ended");
        ended("another");
        assertThat(count(table -> table.purgeNodes(List.of("alive", "overdue", "ended", "none"))))
                .isEqualTo(1);
        for (String id : List.of("alive", "overdue", "another")) {
            assertThat(application.tables().count("HoldfastNode", Map.of("id", id)))
                    .isEqualTo(1);
        }
        assertThat(application.tables().count("HoldfastNode")).isEqualTo(3);
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
            Instant before = application.clock();
            assertThat(takeFromHolder(held, Duration.ofSeconds(60))).isTrue();
            Instant after = application.clock();

            LockEntity row = row(held.name());
            assertVacated(row, held);
            assertThat(row.expiresAt()).isBetween(before, after);
            assertThat(row.availableAt()).isBetween(before.plusSeconds(60), after.plusSeconds(60));
            assertThat(takeFromHolder(held, Duration.ZERO)).as("again").isFalse();
            assertUnchanged(row);
        }
    }

    final boolean takeFromHolder(LockEntity held, Duration delay) {
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
        Instant before = application.clock();
        recordForced(held);
        Instant after = application.clock();

        List<LockAudit> acts = call(table -> table.acts("job", 10));
        assertThat(acts).singleElement().satisfies(act -> {
            assertThat(act.action()).isEqualTo(LockAudit.FORCED_RELEASE);
            assertThat(act.owner()).isEqualTo("owner of job");
            assertThat(act.nodeId()).isEqualTo("node 1");
            assertThat(act.holder()).isEqualTo("holder of job");
            assertThat(act.fencingToken()).isEqualTo(held.fencingToken());
            assertThat(act.doneAt()).isBetween(before, after);
            assertThat(act.doneBy()).isEqualTo("me");
            assertThat(act.reason()).isEqualTo("stuck");
        });
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
}
