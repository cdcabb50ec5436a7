package io.github.holdfast.repository.rows;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.memory.Row;
import io.github.holdfast.repository.store.StoreContract;
import io.github.holdfast.repository.store.TestThreads;
import java.text.Normalizer;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What can be done with the row of a lock. */
abstract class LockRowsContract extends StoreContract {

    static final Duration LEASE = Duration.ofSeconds(30);
    static final Duration SHORT_LEASE = Duration.ofMillis(100);

    // Reading

    @Test
    void readsNothingWhereThereIsNoRow() {
        assertThat(application.<Optional<LockSnapshot>>call(locks -> locks.read("job")))
                .isEmpty();
    }

    @Test
    void readsTheClockTogetherWithTheRow() {
        application.create("job");
        Instant before = application.clock();
        LockSnapshot snapshot = application.read("job");

        assertThat(snapshot.dbNow()).isBetween(before, application.clock());
        assertThat(snapshot.node()).isNull();
    }

    @Test
    void readsTheNodeThatTheRowNames() {
        application.register("node 1");
        LockEntity before = application.create("job");
        LockEntity after = before.granted("me", "node 1", null);
        application.call(locks -> locks.grant(before, after, null, null));
        application.tables().delete("HoldfastNode");
        assertThat(application.read("job").node()).isNull();

        Instant grantedAt = requireNonNull(application.read("job").row().acquiredAt());
        application
                .tables()
                .insert(
                        "HoldfastNode",
                        Map.of(
                                "id",
                                "node 1",
                                "startedAt",
                                grantedAt,
                                "expiresAt",
                                grantedAt,
                                "ended",
                                true,
                                "description",
                                "app",
                                "version",
                                7L));
        LockSnapshot snapshot = application.read("job");

        assertThat(snapshot.node()).satisfies(node -> {
            assertThat(requireNonNull(node).id()).isEqualTo("node 1");
            assertThat(node.startedAt()).isEqualTo(snapshot.row().acquiredAt());
            assertThat(node.expiresAt()).isEqualTo(snapshot.row().acquiredAt());
            assertThat(node.isEnded()).isTrue();
            assertThat(node.description()).isEqualTo("app");
            assertThat(node.version()).isEqualTo(7);
        });
    }

    @Test
    void readShowsWhatTheSameTransactionHasWritten() {
        application.create("job");
        application.call(locks -> {
            LockEntity before = locks.read("job").orElseThrow().row();
            LockEntity after = before.granted("me", null, null);
            locks.grant(before, after, LEASE, null);
            LockSnapshot seen = locks.read("job").orElseThrow();

            assertThat(seen.row().owner()).isEqualTo("me");
            assertThat(seen.row().version()).isEqualTo(after.version());
            assertThat(seen.row().expiresAt()).isAfter(seen.dbNow());
            return seen;
        });
    }

    // Creating

    @Test
    void createsALockThatNobodyHolds() {
        Instant before = application.clock();
        LockEntity row = application.create("job");
        Instant after = application.clock();

        assertThat(row.owner()).isNull();
        assertThat(row.nodeId()).isNull();
        assertThat(row.holder()).isNull();
        assertThat(row.holdCount()).isZero();
        assertThat(row.acquiredAt()).isNull();
        assertThat(row.availableAt()).isNull();
        assertThat(row.expiresAt()).isBetween(before, after);
        assertThat(row.version()).isBetween(micros(before), micros(after));
        assertThat(row.fencingToken()).isBetween(micros(before), micros(after));
    }

    @Test
    void creatingAnExistingRowChangesNothing() {
        LockEntity held = application.grant("job", "me", LEASE);
        application.call(locks -> locks.createIfMissing("job"));

        assertUnchanged(held);
    }

    /** Somebody has deleted the row, but not those of the holders. */
    @Test
    void creatingTheRowOfALockWithHoldersDoesNotFreeIt() {
        application
                .tables()
                .insert(
                        "HoldfastHolder",
                        Map.of(
                                "name",
                                "job",
                                "fencingToken",
                                1L,
                                "owner",
                                "reader",
                                "permits",
                                1,
                                "guardCount",
                                0L,
                                "acquiredAt",
                                application.clock()));
        application.store().autocommit(LEASE).createIfMissing("job");
        application.store().autocommit(LEASE).createIfMissing("other");
        assertThat(application.read("job").row().isShared()).isTrue();
        assertThat(application.read("other").row().isShared()).isFalse();
    }

    @Test
    void manyMayCreateTheRowAtTheSameTime() throws Exception {
        int clients = 20;
        try (TestThreads threads = new TestThreads()) {
            for (int round = 0; round < 5; round++) {
                String name = "job " + round;
                threads.together(clients, () -> application.call(locks -> locks.createIfMissing(name)));
            }
        }
        assertThat(application.tables().count("HoldfastLock")).isEqualTo(5);
    }

    // Granting

    @Test
    void grantWritesTheWholeRow() {
        LockEntity before = application.create("job");
        Duration minimumHold = Duration.ofSeconds(7);
        LockEntity after = before.granted("me", null, "host 1");
        Instant earliest = application.clock();
        assertThat(application.<Boolean>call(locks -> locks.grant(before, after, LEASE, minimumHold)))
                .isTrue();
        Instant latest = application.clock();

        LockEntity row = application.read("job").row();
        assertThat(row.owner()).isEqualTo("me");
        assertThat(row.nodeId()).isNull();
        assertThat(row.holder()).isEqualTo("host 1");
        assertThat(row.holdCount()).isEqualTo(1);
        assertThat(row.fencingToken()).isEqualTo(before.fencingToken() + 1);
        assertThat(row.version()).isEqualTo(before.version() + 1).isEqualTo(after.version());
        assertThat(row.acquiredAt()).isBetween(earliest, latest);
        assertThat(row.expiresAt()).isBetween(earliest.plus(LEASE), latest.plus(LEASE));
        assertThat(row.availableAt()).isBetween(earliest.plus(minimumHold), latest.plus(minimumHold));
    }

    @Test
    void grantThroughANodeHasNoEndOfItsOwn() {
        application.register("node 1");
        LockEntity before = application.create("job");
        LockEntity after = before.granted("me", "node 1", null);
        application.call(locks -> locks.grant(before, after, null, null));

        LockEntity row = application.read("job").row();
        assertThat(row.nodeId()).isEqualTo("node 1");
        assertThat(row.expiresAt()).isNull();
        assertThat(row.availableAt()).isNull();
        assertThat(row.acquiredAt()).isNotNull();
    }

    @Test
    void grantTakesOverFromAHolderWhoseLeaseIsOver() {
        LockEntity old = application.grant("job", "old", SHORT_LEASE);
        LockEntity held = awaitEndOfLease(old);
        LockEntity after = held.granted("new", null, null);
        assertThat(application.<Boolean>call(locks -> locks.grant(held, after, LEASE, null)))
                .isTrue();

        LockEntity row = application.read("job").row();
        assertThat(row.owner()).isEqualTo("new");
        assertThat(row.holder()).isNull();
        assertThat(row.holdCount()).isEqualTo(1);
        assertThat(row.fencingToken()).isEqualTo(held.fencingToken() + 1);
        assertThat(row.expiresAt()).isAfter(old.expiresAt());
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT0.000001S", "PT0.000000001S", "PT123.456789012S", "P365D", "P100000D"})
    void leaseIsRoundedUpToMicroseconds(Duration lease) {
        LockEntity row = application.grant("job", "me", lease);

        // The clock goes on between the two on most databases, but never back.
        assertThat(Duration.between(row.acquiredAt(), row.expiresAt()))
                .isBetween(lease, lease.plusSeconds(1))
                .isGreaterThanOrEqualTo(Duration.ofNanos(1000));
    }

    @Test
    void longestTextsFit() {
        application.register("n".repeat(64));
        String name = "\ud83d\ude00".repeat(LockEntity.MAX_NAME_LENGTH / 2) + "x";
        String owner = "\u6f22".repeat(LockEntity.MAX_OWNER_LENGTH);
        LockEntity before = application.create(name);
        LockEntity after = before.granted(owner, "n".repeat(64), "\ud83d\ude00".repeat(LockEntity.MAX_HOLDER_LENGTH));
        application.call(locks -> locks.grant(before, after, LEASE, null));

        LockEntity row = application.read(name).row();
        assertThat(row.owner()).isEqualTo(owner);
        assertThat(row.nodeId()).isEqualTo("n".repeat(64));
        assertThat(row.holder()).isEqualTo("\ud83d\ude00".repeat(LockEntity.MAX_HOLDER_LENGTH / 2));
    }

    // Compare and set

    /** What a decision can have been based on that is not true any more. */
    enum Stale {
        VERSION,
        TOKEN,
        OWNER,
        NO_OWNER;

        LockEntity of(LockEntity row) {
            Row<LockEntity> stale = Row.like(row);
            return switch (this) {
                case VERSION -> stale.with("version", row.version() - 1).made();
                case TOKEN -> stale.with("fencingToken", row.fencingToken() - 1).made();
                case OWNER ->
                    stale.with("owner", row.owner() == null ? "somebody" : row.owner() + " else")
                            .made();
                case NO_OWNER -> stale.with("owner", null).made();
            };
        }
    }

    /** A write of the row, decided on this. */
    private interface Write {
        boolean by(TransactionalLockRows locks, LockEntity seen);
    }

    private void assertMissed(LockEntity row, Stale stale, Write write) {
        boolean isChanged = application.call(locks -> write.by(locks, stale.of(row)));

        assertThat(isChanged).isFalse();
        assertUnchanged(row);
    }

    @ParameterizedTest
    @EnumSource(Stale.class)
    void grantMissesARowThatHasChanged(Stale stale) {
        LockEntity row = application.grant("job", "me", LEASE);
        assertMissed(
                row,
                stale,
                (locks, seen) -> locks.grant(seen, row.granted("new", null, null), Duration.ofSeconds(1), null));
    }

    @ParameterizedTest
    @EnumSource(value = Stale.class, mode = EnumSource.Mode.EXCLUDE, names = "NO_OWNER")
    void grantMissesAFreeRowThatHasChanged(Stale stale) {
        LockEntity row = application.create("job");
        assertMissed(
                row,
                stale,
                (locks, seen) -> locks.grant(seen, row.granted("new", null, null), Duration.ofSeconds(1), null));
    }

    @ParameterizedTest
    @EnumSource(Stale.class)
    void extendMissesARowThatHasChanged(Stale stale) {
        LockEntity row = application.grant("job", "me", LEASE);
        assertMissed(row, stale, (locks, seen) -> locks.extend(seen, row.reentered(), Duration.ofMinutes(1)));
    }

    @ParameterizedTest
    @EnumSource(Stale.class)
    void releaseMissesARowThatHasChanged(Stale stale) {
        LockEntity row = application.grant("job", "me", LEASE);
        assertMissed(row, stale, (locks, seen) -> locks.release(seen, row.released()));
    }

    @ParameterizedTest
    @EnumSource(Stale.class)
    void recountMissesARowThatHasChanged(Stale stale) {
        LockEntity row = application.grant("job", "me", LEASE);
        assertMissed(row, stale, (locks, seen) -> locks.recount(seen, row.reentered()));
    }

    @Test
    void nothingCanBeDoneWithAMissingRow() {
        LockEntity row = new LockEntity("job", 1);
        LockEntity granted = row.granted("me", null, null);

        assertThat(application.<List<Boolean>>call(locks -> List.of(
                        locks.grant(row, granted, LEASE, null),
                        locks.extend(granted, granted.reentered(), LEASE),
                        locks.release(granted, granted.released()),
                        locks.supersede("job", 1))))
                .containsOnly(false);
        assertThat(application.tables().count("HoldfastLock")).isZero();
    }

    @Test
    void onlyOneOfManyIsGrantedTheLock() throws Exception {
        LockEntity before = application.create("job");
        LockEntity after = before.granted("me", null, null);
        try (TestThreads threads = new TestThreads()) {
            List<Boolean> granted =
                    threads.together(10, () -> application.call(locks -> locks.grant(before, after, LEASE, null)));
            assertThat(granted).containsOnlyOnce(true);
        }
        assertThat(application.read("job").row().fencingToken()).isEqualTo(before.fencingToken() + 1);
    }

    // Extending

    @Test
    void extendMakesTheLeaseLonger() {
        LockEntity before = application.grant("job", "me", LEASE);
        Duration longer = LEASE.multipliedBy(2);
        Instant earliest = application.clock();
        assertThat(application.<Boolean>call(locks -> locks.extend(before, before.reentered(), longer)))
                .isTrue();
        Instant latest = application.clock();

        LockEntity row = application.read("job").row();
        assertThat(row.expiresAt()).isBetween(earliest.plus(longer), latest.plus(longer));
        assertThat(row).usingRecursiveComparison().ignoringFields("expiresAt").isEqualTo(before.reentered());
    }

    @Test
    void extendNeverMakesTheLeaseShorter() {
        LockEntity before = application.grant("job", "me", LEASE);
        assertThat(application.<Boolean>call(locks -> locks.extend(before, before.reentered(), SHORT_LEASE)))
                .isTrue();

        assertUnchanged(before.reentered());
    }

    @Test
    void extendFailsWhenTheLeaseIsOver() {
        LockEntity row = awaitEndOfLease(application.grant("job", "me", SHORT_LEASE));
        assertThat(application.<Boolean>call(locks -> locks.extend(row, row.withHoldCount(1), LEASE)))
                .isFalse();

        assertUnchanged(row);
    }

    @Test
    void grantThroughANodeMissesWhereThatIsEndedOrAbsent() {
        LockEntity free = application.create("job");
        LockEntity granted = free.granted("me", "node 1", null);
        assertThat(application.<Boolean>call(locks -> locks.grant(free, granted, null, null)))
                .isFalse();
        application.register("node 1");
        application.tables().update("HoldfastNode", Map.of("ended", true));
        assertThat(application.<Boolean>call(locks -> locks.grant(free, granted, null, null)))
                .isFalse();
        assertUnchanged(free);
        application.tables().update("HoldfastNode", Map.of("ended", false));
        assertThat(application.<Boolean>call(locks -> locks.grant(free, granted, null, null)))
                .isTrue();
    }

    @Test
    void extendLeavesALockAloneThatIsHeldThroughItsNode() {
        application.register("node 1");
        LockEntity free = application.create("job");
        LockEntity granted = free.granted("me", "node 1", null);
        application.call(locks -> locks.grant(free, granted, null, null));
        LockEntity held = application.read("job").row();
        assertThat(application.<Boolean>call(locks -> locks.extend(held, held.reentered(), LEASE)))
                .isFalse();

        assertUnchanged(held);
    }

    // Releasing

    @Test
    void releaseOfANestedHoldKeepsTheLock() {
        LockEntity once = application.grant("job", "me", LEASE);
        application.call(locks -> locks.extend(once, once.reentered(), LEASE));
        LockEntity twice = application.read("job").row();
        assertThat(application.<Boolean>call(locks -> locks.release(twice, twice.released())))
                .isTrue();

        assertUnchanged(twice.released());
        assertThat(application.read("job").row().holdCount()).isEqualTo(1);
    }

    @Test
    void lastReleaseFreesTheLockAndKeepsWhatMustNotRestart() {
        application.register("node 1");
        LockEntity free = application.create("job");
        LockEntity after = free.granted("me", "node 1", "host 1");
        application.call(locks -> locks.grant(free, after, LEASE, LEASE));
        LockEntity held = application.read("job").row();
        Instant earliest = application.clock();
        assertThat(application.<Boolean>call(locks -> locks.release(held, held.released())))
                .isTrue();
        Instant latest = application.clock();

        LockEntity row = application.read("job").row();
        assertThat(row.owner()).isNull();
        assertThat(row.nodeId()).isNull();
        assertThat(row.holder()).isNull();
        assertThat(row.holdCount()).isZero();
        assertThat(row.fencingToken()).isEqualTo(held.fencingToken());
        assertThat(row.availableAt()).isNotNull().isEqualTo(held.availableAt());
        assertThat(row.acquiredAt()).isNotNull().isEqualTo(held.acquiredAt());
        assertThat(row.expiresAt()).isBetween(earliest, latest);
        assertThat(row.version()).isEqualTo(held.version() + 1);
    }

    @Test
    void releaseFreesALockWhoseLeaseIsOver() {
        LockEntity held = awaitEndOfLease(application.grant("job", "me", SHORT_LEASE));
        assertThat(application.<Boolean>call(locks -> locks.release(held, held.released())))
                .isTrue();

        assertThat(application.read("job").row().owner()).isNull();
    }

    // Versions

    @Test
    void supersededDecisionIsNotExecutedAnyMore() {
        LockEntity row = application.create("job");
        LockEntity granted = row.granted("me", null, null);
        assertThat(application.<Boolean>call(locks -> locks.supersede("job", row.version())))
                .isTrue();
        assertThat(application.<Boolean>call(locks -> locks.grant(row, granted, LEASE, null)))
                .isFalse();

        assertThat(application.read("job").row())
                .usingRecursiveComparison()
                .ignoringFields("version")
                .isEqualTo(row);
        assertThat(application.read("job").row().version()).isEqualTo(row.version() + 1);
    }

    @Test
    void anEarlierVersionIsSupersededAlready() {
        LockEntity row = application.grant("job", "me", LEASE);
        assertThat(application.<Boolean>call(locks -> locks.supersede("job", row.version() - 1)))
                .isFalse();

        assertUnchanged(row);
    }

    @Test
    void aDecisionThatExpectsTheNextWriteIsNotExecutedAfterIt() {
        LockEntity held = application.grant("job", "me", LEASE);
        LockEntity expected = held.withHoldCount(0);
        assertThat(application.<Boolean>call(locks -> locks.supersede("job", expected.version())))
                .isTrue();
        LockEntity raised = application.read("job").row();
        assertThat(application.<Boolean>call(locks -> locks.release(raised, raised.withHoldCount(0))))
                .isTrue();
        assertThat(application.<Boolean>call(
                        locks -> locks.grant(expected, expected.granted("late", null, null), LEASE, null)))
                .isFalse();
    }

    @Test
    void rememberedVersionNeverMatchesARecreatedRow() {
        List<LockEntity> remembered = new ArrayList<>();
        remembered.add(application.create("job"));
        for (int times = 0; times < 5; times++) {
            remembered.add(application.grant("job", "me", LEASE));
        }
        application.tables().delete("HoldfastLock");
        LockEntity recreated = application.create("job");

        for (LockEntity old : remembered) {
            assertThat(recreated.version()).isGreaterThan(old.version());
            assertThat(recreated.fencingToken()).isGreaterThan(old.fencingToken());
            LockEntity again = old.granted("thief", null, null);
            assertThat(application.<Boolean>call(locks -> locks.grant(old, again, LEASE, null)))
                    .isFalse();
            assertThat(application.<Boolean>call(locks -> locks.supersede("job", old.version())))
                    .isFalse();
        }
        assertUnchanged(recreated);
    }

    // Names

    @Test
    void namesThatLookAlikeAreDifferentLocks() {
        String name = "job \u00e9t\u00e9 stra\u00dfe \ud83d\ude00";
        List<String> names = Stream.<Function<String, String>>of(
                        same -> same,
                        same -> same.toUpperCase(Locale.ROOT),
                        same -> same.replace('j', 'J'),
                        same -> Normalizer.normalize(same, Normalizer.Form.NFD),
                        same -> same.replace('\u00e9', 'e'),
                        same -> same.replace("\u00df", "ss"),
                        same -> same.replace("\ud83d\ude00", "\ud83d\ude01"),
                        same -> same.replace(" ", ""),
                        same -> same.replace(" ", "  "),
                        same -> same.replace(" ", "\u00a0"),
                        same -> same.replace(" ", "\u200b "),
                        same -> same.replace("job", "jo\u200db"),
                        same -> same.replace("job", "jo\u00adb"),
                        same -> same + " ",
                        same -> " " + same)
                .map(variation -> variation.apply(name))
                .toList();
        for (String each : names) {
            assertThat(application.<Optional<LockSnapshot>>call(locks -> locks.read(each)))
                    .as(each)
                    .isEmpty();
            LockEntity row = application.create(each);
            assertThat(row.name()).isEqualTo(each);
        }
        for (String each : names) {
            application.grant(each, "owner of " + each, LEASE);
        }
        for (String each : names) {
            LockEntity row = application.read(each).row();
            assertThat(row.name()).isEqualTo(each);
            assertThat(row.owner()).isEqualTo("owner of " + each);
            assertThat(application.<Optional<LockEntity>>call(locks -> locks.findForUpdate(each)))
                    .get()
                    .extracting(LockEntity::name)
                    .isEqualTo(each);
        }
        assertThat(application.tables().count("HoldfastLock")).isEqualTo(names.size());
    }

    @Test
    void ownersThatLookAlikeAreDifferentOwners() {
        LockEntity row = application.grant("job", "caf\u00e9", LEASE);

        for (String other : List.of("CAF\u00c9", "cafe", "cafe\u0301", "caf\u00e9 ", "caf\u00e9\u200b")) {
            LockEntity seen = Row.like(row).with("owner", other).made();
            assertThat(application.<Boolean>call(locks -> locks.release(seen, row.released())))
                    .as(other)
                    .isFalse();
        }
        assertUnchanged(row);
    }

    // Locking the row

    @Test
    void locksNothingWhereThereIsNoRow() {
        assertThat(application.<List<Optional<LockEntity>>>call(
                        locks -> List.of(locks.findForUpdate("job"), locks.findForUpdateSkipLocked("job"))))
                .containsOnly(Optional.empty());
    }

    @Test
    void rowThatNobodyHasLockedIsFoundByEachWay() {
        LockEntity row = application.grant("job", "me", LEASE);

        for (Function<TransactionalLockRows, Optional<LockEntity>> way :
                List.<Function<TransactionalLockRows, Optional<LockEntity>>>of(
                        locks -> locks.findForUpdate("job"), locks -> locks.findForUpdateSkipLocked("job"))) {
            assertThat(application.call(way)).get().usingRecursiveComparison().isEqualTo(row);
        }
    }

    final void assertUnchanged(LockEntity row) {
        assertThat(application.read(row.name()).row())
                .usingRecursiveComparison()
                .isEqualTo(row);
    }

    private LockEntity awaitEndOfLease(LockEntity row) {
        application.awaitClock(requireNonNull(row.expiresAt()));
        return application.read(row.name()).row();
    }

    private static long micros(Instant instant) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, instant);
    }
}
