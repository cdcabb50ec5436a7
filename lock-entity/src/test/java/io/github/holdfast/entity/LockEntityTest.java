package io.github.holdfast.entity;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a row becomes; {@link LockAvailabilityTest} has what it says to one who wants the lock. */
class LockEntityTest {

    private static final Instant NOW = Instant.parse("2026-03-29T01:30:00.123456Z");
    private static final long EPOCH = 1_774_747_800_123_456L;

    private final LockEntity free = new LockEntity("order:1001", EPOCH);

    private static LockEntity loaded(LockEntity row, String column, @Nullable Object value) {
        Columns.load(row, column, value);
        return row;
    }

    /** A row with a value in every column, so that a column that is lost on the way is noticed. */
    private LockEntity held(int times) {
        LockEntity row = free.granted("owner-1", "node-1", "4711@host/main").withHoldCount(times);
        loaded(row, "acquiredAt", NOW.minusSeconds(9));
        loaded(row, "expiresAt", NOW.plusSeconds(21));
        loaded(row, "permits", 5);
        loaded(row, "wantedUntil", NOW.plusSeconds(2));
        return loaded(row, "availableAt", NOW.plusSeconds(1));
    }

    private static Map<String, @Nullable Object> columns(LockEntity row) {
        return Columns.of(row);
    }

    /** The columns of the next state, if only these differ and the version has grown by one. */
    private static Map<String, @Nullable Object> next(LockEntity row, Map<String, @Nullable Object> changed) {
        Map<String, @Nullable Object> columns = columns(row);
        columns.put("version", row.version() + 1);
        columns.putAll(changed);
        return columns;
    }

    private static Map<String, @Nullable Object> freed() {
        Map<String, @Nullable Object> changed = new HashMap<>();
        changed.put("owner", null);
        changed.put("nodeId", null);
        changed.put("holder", null);
        changed.put("holdCount", 0);
        return changed;
    }

    @Test
    void aTokenAboveOneInDoubtChangesNothingElse() {
        LockEntity row = free.granted("me", null, "host");
        assertThat(columns(free.granted("me", null, "host", row.fencingToken() - 1)))
                .isEqualTo(columns(row));
        Map<String, @Nullable Object> changed = columns(row);
        changed.put("fencingToken", row.fencingToken() + 1);
        assertThat(columns(free.granted("me", null, "host", row.fencingToken())))
                .isEqualTo(changed);
    }

    @Test
    void newRowIsFreeAndStartsAtTheEpoch() {
        assertThat(columns(free))
                .containsEntry("name", "order:1001")
                .containsEntry("version", EPOCH)
                .containsEntry("fencingToken", EPOCH)
                .containsEntry("holdCount", 0)
                .containsEntry("guardCount", 0L)
                .hasSize(13);
        assertThat(columns(free).values()).filteredOn(value -> value == null).hasSize(8);
    }

    @Test
    void accessorsTellTheColumns() {
        LockEntity row = held(3);

        assertThat(row.name()).isEqualTo("order:1001");
        assertThat(row.owner()).isEqualTo("owner-1");
        assertThat(row.nodeId()).isEqualTo("node-1");
        assertThat(row.holdCount()).isEqualTo(3);
        assertThat(row.fencingToken()).isEqualTo(EPOCH + 1);
        assertThat(row.acquiredAt()).isEqualTo(NOW.minusSeconds(9));
        assertThat(row.expiresAt()).isEqualTo(NOW.plusSeconds(21));
        assertThat(row.availableAt()).isEqualTo(NOW.plusSeconds(1));
        assertThat(row.holder()).isEqualTo("4711@host/main");
        assertThat(row.version()).isEqualTo(EPOCH + 2);
    }

    @Test
    @SuppressWarnings("NullAway")
    void rowNeedsANameAndAGrantAnOwner() {
        assertThatNullPointerException().isThrownBy(() -> new LockEntity(null, EPOCH));
        assertThatNullPointerException().isThrownBy(() -> free.granted(null, null, null));
    }

    @Test
    void grantOfAFreeLockWritesANewTokenAndAFirstHold() {
        LockEntity granted = free.granted("owner-1", null, "4711@host/main");

        assertThat(columns(granted))
                .isEqualTo(next(
                        free,
                        Map.of(
                                "owner",
                                "owner-1",
                                "holder",
                                "4711@host/main",
                                "holdCount",
                                1,
                                "fencingToken",
                                EPOCH + 1)));
    }

    @Test
    void takeoverReplacesEverythingThatWasTheFormerHolders() {
        LockEntity abandoned = held(7);

        LockEntity taken = abandoned.granted("owner-2", "node-2", "8@other/worker");

        assertThat(columns(taken))
                .isEqualTo(next(
                        abandoned,
                        Map.of(
                                "owner", "owner-2",
                                "nodeId", "node-2",
                                "holder", "8@other/worker",
                                "holdCount", 1,
                                "fencingToken", abandoned.fencingToken() + 1)));
    }

    @Test
    void takeoverByALeaseLeavesNoNodeAndNoHolderBehind() {
        LockEntity taken = held(7).granted("owner-2", null, null);

        assertThat(taken.nodeId()).isNull();
        assertThat(taken.holder()).isNull();
    }

    @Test
    void sameOwnerGetsANewTokenWithANewGrant() {
        LockEntity former = held(2);

        LockEntity again = former.granted("owner-1", "node-1", "4711@host/main");

        assertThat(again.fencingToken()).isEqualTo(former.fencingToken() + 1);
        assertThat(again.holdCount()).isEqualTo(1);
    }

    @Test
    void reentryCountsOneMoreAndKeepsTheRest() {
        LockEntity once = held(1);

        assertThat(columns(once.reentered())).isEqualTo(next(once, Map.of("holdCount", 2)));
    }

    @Test
    void reentryReachesTheLargestCountAndThenRefuses() {
        LockEntity almost = held(Integer.MAX_VALUE - 1);
        LockEntity full = almost.reentered();

        assertThat(full.holdCount()).isEqualTo(Integer.MAX_VALUE);
        assertThatIllegalStateException()
                .isThrownBy(full::reentered)
                .withMessageContaining("order:1001")
                .withMessageContaining("2147483647");
    }

    @Test
    void releaseOfANestedHoldCountsOneLessAndKeepsTheRest() {
        LockEntity twice = held(2);

        assertThat(columns(twice.released())).isEqualTo(next(twice, Map.of("holdCount", 1)));
    }

    @Test
    void lastReleaseFreesTheLockAndKeepsTokenAndInstants() {
        LockEntity once = held(1);

        assertThat(columns(once.released())).isEqualTo(next(once, freed()));
    }

    @Test
    void releaseOfAHoldThatSomebodyCountedWrongFreesTheLock() {
        LockEntity uncounted = loaded(held(1), "holdCount", 0);

        assertThat(columns(uncounted.released())).isEqualTo(next(uncounted, freed()));
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 5, Integer.MAX_VALUE})
    void countThatItsOwnerKnowsIsWrittenAsItIs(int times) {
        LockEntity row = held(2);

        assertThat(columns(row.withHoldCount(times))).isEqualTo(next(row, Map.of("holdCount", times)));
    }

    @Test
    void countOfZeroFreesTheLockHoweverOftenItWasHeld() {
        LockEntity row = held(9);

        assertThat(columns(row.withHoldCount(0))).isEqualTo(next(row, freed()));
    }

    @Test
    void freeLockIsNeitherReenteredNorReleased() {
        LockEntity released = held(1).released();

        for (LockEntity row : new LockEntity[] {free, released}) {
            assertThatIllegalStateException().isThrownBy(row::reentered).withMessageContaining("order:1001");
            assertThatIllegalStateException().isThrownBy(row::released).withMessageContaining("order:1001");
            assertThatIllegalStateException()
                    .isThrownBy(() -> row.withHoldCount(0))
                    .withMessage("Lock 'order:1001' is not held");
            assertThatIllegalStateException().isThrownBy(() -> row.withHoldCount(1));
        }
    }

    @Test
    void transitionsLeaveTheRowThatTheyStartFrom() {
        LockEntity row = held(2);
        Map<String, @Nullable Object> before = columns(row);

        row.granted("owner-2", null, null);
        row.reentered();
        row.released();
        row.withHoldCount(0);

        assertThat(columns(row)).isEqualTo(before);
    }

    @Test
    void tokenGrowsWithGrantsOnlyAndVersionWithEveryWrite() {
        LockEntity row = free.granted("a", null, null)
                .reentered()
                .released()
                .released()
                .granted("b", null, null)
                .withHoldCount(4)
                .withHoldCount(0);

        assertThat(row.fencingToken()).isEqualTo(EPOCH + 2);
        assertThat(row.version()).isEqualTo(EPOCH + 7);
    }

    @Test
    void holderIsCutAtTheWidthOfItsColumn() {
        assertThat(free.granted("o", null, "x".repeat(255)).holder()).isEqualTo("x".repeat(255));
        assertThat(free.granted("o", null, "x".repeat(256)).holder()).isEqualTo("x".repeat(255));
        assertThat(free.granted("o", null, "x".repeat(9999)).holder()).hasSize(255);
        assertThat(free.granted("o", null, "").holder()).isEmpty();
    }

    @Test
    void holderIsNotCutInsideACharacter() {
        String locked = "\uD83D\uDD12";

        assertThat(free.granted("o", null, "x".repeat(253) + locked).holder()).isEqualTo("x".repeat(253) + locked);
        assertThat(free.granted("o", null, "x".repeat(253) + locked + "x").holder())
                .isEqualTo("x".repeat(253) + locked);
        assertThat(free.granted("o", null, "x".repeat(254) + locked).holder()).isEqualTo("x".repeat(254));
        assertThat(free.granted("o", null, "x".repeat(255) + locked).holder()).isEqualTo("x".repeat(255));
    }

    @Test
    void waitsForTheLeaseAndForAvailabilityWhicheverIsLater() {
        @Nullable Instant[] instants = {null, NOW.minusSeconds(1), NOW, NOW.plusNanos(1000), NOW.plusSeconds(5)};
        Duration[] untilThen = {
            Duration.ZERO, Duration.ZERO, Duration.ZERO, Duration.ofNanos(1000), Duration.ofSeconds(5)
        };
        for (int lease = 1; lease < instants.length; lease++) {
            for (int available = 0; available < instants.length; available++) {
                LockEntity row = free.granted("owner-1", null, null);
                loaded(row, "expiresAt", instants[lease]);
                loaded(row, "availableAt", instants[available]);

                assertThat(row.timeUntilFree(NOW, Duration.ZERO))
                        .as("lease until %s, available from %s", instants[lease], instants[available])
                        .isEqualTo(untilThen[Math.max(lease, available)]);
            }
        }
    }

    @Test
    void lockThatWasNeverGrantedIsFreeNow() {
        assertThat(free.timeUntilFree(NOW, Duration.ZERO)).isEqualTo(Duration.ZERO);
        assertThat(loaded(free, "availableAt", NOW.plusSeconds(5)).timeUntilFree(NOW, Duration.ZERO))
                .isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void freeLockIsWaitedForUntilItIsAvailableWhateverItsLeaseWas() {
        LockEntity released = loaded(free.granted("o", null, null).released(), "expiresAt", NOW.plusSeconds(60));

        assertThat(released.timeUntilFree(NOW, Duration.ZERO)).isEqualTo(Duration.ZERO);
        assertThat(loaded(released, "availableAt", NOW).timeUntilFree(NOW, Duration.ZERO))
                .isEqualTo(Duration.ZERO);
        assertThat(loaded(released, "availableAt", NOW.plusMillis(3)).timeUntilFree(NOW, Duration.ZERO))
                .isEqualTo(Duration.ofMillis(3));
    }

    @Test
    void holdThroughANodeHasNoEndToWaitFor() {
        LockEntity row = free.granted("owner-1", "node-1", null);

        assertThat(row.timeUntilFree(NOW, Duration.ZERO)).isNull();
        assertThat(loaded(row, "availableAt", NOW.plusSeconds(5)).timeUntilFree(NOW, Duration.ZERO))
                .isNull();
    }

    @Test
    void renewedAndReenteredRowsAreTheSameGrant() {
        LockEntity granted = free.granted("owner-1", null, null);

        assertThat(granted.isSameGrantAs(granted)).isTrue();
        assertThat(granted.reentered().isSameGrantAs(granted)).isTrue();
        assertThat(granted.isSameGrantAs(granted.withHoldCount(5))).isTrue();
    }

    @Test
    void anotherOwnerTokenOrNameIsAnotherGrant() {
        LockEntity granted = free.granted("owner-1", null, null);

        assertThat(free.granted("owner-2", null, null).isSameGrantAs(granted)).isFalse();
        assertThat(granted.granted("owner-1", null, null).isSameGrantAs(granted))
                .isFalse();
        assertThat(new LockEntity("order:1002", EPOCH)
                        .granted("owner-1", null, null)
                        .isSameGrantAs(granted))
                .isFalse();
        assertThat(new LockEntity("Order:1001", EPOCH)
                        .granted("owner-1", null, null)
                        .isSameGrantAs(granted))
                .isFalse();
    }

    @Test
    void freeRowIsNobodysGrant() {
        LockEntity granted = free.granted("owner-1", null, null);

        assertThat(granted.released().isSameGrantAs(granted)).isFalse();
        assertThat(granted.isSameGrantAs(granted.released())).isFalse();
        assertThat(free.isSameGrantAs(free)).isFalse();
    }

    @Test
    void toStringTellsWhoHoldsItUnderWhichToken() {
        assertThat(free.granted("owner-1", "node-1", null).toString())
                .contains("order:1001", "owner-1", "node-1", "fencingToken=" + (EPOCH + 1), "version=" + (EPOCH + 1));
    }
}
