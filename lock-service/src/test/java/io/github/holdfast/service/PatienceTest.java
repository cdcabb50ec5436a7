package io.github.holdfast.service;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PatienceTest {

    private static final Duration LONG = Duration.ofHours(1);
    private static final Duration NANO = Duration.ofNanos(1);
    private static final int REPEATS = 500;

    /** What is slept passes at once, and nothing else takes time. */
    private static final class FakeTicker implements Ticker {

        private long now;
        private final List<Duration> slept = new ArrayList<>();

        FakeTicker(long now) {
            this.now = now;
        }

        void pass(Duration time) {
            now += time.toNanos();
        }

        Duration lastSleep() {
            return slept.get(slept.size() - 1);
        }

        @Override
        public long nanoTime() {
            return now;
        }

        /** As the real one: returns at once, and leaves the interrupt, if the thread is interrupted. */
        @Override
        public void park(Object blocker, long nanos) {
            if (!Thread.currentThread().isInterrupted()) {
                slept.add(Duration.ofNanos(nanos));
                pass(Duration.ofNanos(nanos));
            }
        }
    }

    /** Close to the end of the range of {@link System#nanoTime}, so that every test sees it wrap around. */
    private final FakeTicker ticker = new FakeTicker(Long.MAX_VALUE - 5_000_000);

    @AfterEach
    void interruptNobodyElse() {
        Thread.interrupted();
    }

    private static Duration millis(long millis) {
        return Duration.ofMillis(millis);
    }

    @Test
    void pausesDoubleFromFourToFortyFiveMilliseconds() throws InterruptedException {
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            Patience patience = Patience.interruptible(ticker, LONG);
            for (long full : new long[] {4, 8, 16, 32, 45, 45, 45}) {
                patience.pause(null);
                assertThat(ticker.lastSleep())
                        .isBetween(millis(full).multipliedBy(4).dividedBy(5), millis(full));
            }
        }
    }

    @Test
    void pausesAreSpreadOverTheUpperFifth() throws InterruptedException {
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            Patience.interruptible(ticker, LONG).pause(null);
        }
        List<Duration> firstPauses = ticker.slept;

        assertThat(firstPauses).anyMatch(pause -> pause.compareTo(Duration.ofNanos(3_300_000)) < 0);
        assertThat(firstPauses).anyMatch(pause -> pause.compareTo(Duration.ofNanos(3_900_000)) > 0);
        assertThat(firstPauses.stream().collect(toSet())).hasSizeGreaterThan(REPEATS / 2);
    }

    @Test
    void noPauseGoesPastTheLimit() throws InterruptedException {
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            Patience patience = Patience.interruptible(ticker, millis(70));
            while (!patience.isOver()) {
                patience.pause(null);
                assertThat(patience.elapsed()).isLessThanOrEqualTo(millis(70));
            }
            assertThat(patience.elapsed()).isEqualTo(millis(70));
        }
    }

    @Test
    void onceTheTimeIsOverPausesGoOnAsBefore() throws InterruptedException {
        Patience patience = Patience.interruptible(ticker, Duration.ZERO);

        for (long full : new long[] {4, 8, 16, 32, 45, 45}) {
            patience.pause(null);
            assertThat(ticker.lastSleep())
                    .isBetween(millis(full).multipliedBy(4).dividedBy(5), millis(full));
        }
    }

    @Test
    void noPauseIsLongerThanItIsWorthWaiting() throws InterruptedException {
        Patience patience = Patience.interruptible(ticker, LONG);

        patience.pause(Duration.ZERO);
        assertThat(ticker.slept).isEmpty();
        patience.pause(NANO);
        assertThat(ticker.lastSleep()).isEqualTo(NANO);
        patience.pause(LONG);
        assertThat(ticker.lastSleep()).isBetween(millis(12), millis(16));
    }

    @Test
    void shortestOfLimitAndWorthWins() throws InterruptedException {
        Patience patience = Patience.interruptible(ticker, NANO.multipliedBy(10));

        patience.pause(NANO.multipliedBy(7));
        patience.pause(NANO.multipliedBy(7));

        assertThat(ticker.slept).containsExactly(NANO.multipliedBy(7), NANO.multipliedBy(3));
        assertThat(patience.isOver()).isTrue();
    }

    @Test
    void pausesOfOneWhoWillBeWokenGoOnDoublingUntilTheyPollAgain() throws InterruptedException {
        Patience patience = Patience.interruptible(ticker, LONG);
        Duration longest = Duration.ofSeconds(1);
        for (int i = 0; i < 4; i++) {
            assertThat(patience.isLong()).isFalse();
            patience.pause(null);
        }
        for (long full : new long[] {45, 90, 180, 360, 720, 1000, 1000}) {
            assertThat(patience.isLong()).isTrue();
            patience.pauseUntil(() -> false, longest, LONG);
            assertThat(ticker.lastSleep())
                    .isBetween(millis(full).multipliedBy(4).dividedBy(5), millis(full));
        }
        patience.pauseUntil(() -> false, longest, NANO);
        assertThat(ticker.lastSleep()).as("worth no more").isEqualTo(NANO);
        patience.pause(null);
        assertThat(ticker.lastSleep()).isBetween(millis(36), millis(45));
        assertThat(patience.isLong()).isTrue();
    }

    @Test
    void whoHasBeenInAQueueHasWaitedForLongWithoutAPause() {
        Patience patience = Patience.interruptible(ticker, LONG);
        ticker.pass(millis(39));
        assertThat(patience.isLong()).isFalse();
        ticker.pass(millis(1));
        assertThat(patience.isLong()).isTrue();
    }

    @Test
    void aPauseEndsWhenItsConditionIsFulfilledAndNotWithEachWakeUp() throws InterruptedException {
        Patience patience = Patience.interruptible(
                new Ticker() {
                    @Override
                    public long nanoTime() {
                        return ticker.nanoTime();
                    }

                    /** Always wakes up early. */
                    @Override
                    public void park(Object blocker, long nanos) {
                        ticker.park(blocker, Math.min(nanos, 1_000_000));
                    }
                },
                LONG);

        patience.pauseUntil(() -> ticker.slept.size() == 2, Duration.ofSeconds(1), LONG);
        assertThat(ticker.slept).hasSize(2);
        patience.pauseUntil(() -> true, Duration.ofSeconds(1), LONG);
        assertThat(ticker.slept).hasSize(2);
        patience.pauseUntil(() -> false, Duration.ofSeconds(1), LONG);
        assertThat(ticker.slept).hasSizeBetween(2 + 8, 2 + 16);
    }

    @Test
    void statementGetsWhatIsLeftBetweenOneAndTenSeconds() {
        Patience patience = Patience.interruptible(ticker, Duration.ofSeconds(12));

        assertThat(patience.forOneStatement()).isEqualTo(Duration.ofSeconds(10));
        ticker.pass(Duration.ofSeconds(2));
        assertThat(patience.forOneStatement()).isEqualTo(Duration.ofSeconds(10));
        ticker.pass(NANO);
        assertThat(patience.forOneStatement()).isEqualTo(Duration.ofSeconds(10).minus(NANO));
        ticker.pass(millis(8500));
        assertThat(patience.forOneStatement()).isEqualTo(millis(1500).minus(NANO));
        ticker.pass(millis(500));
        assertThat(patience.forOneStatement()).isEqualTo(Duration.ofSeconds(1));
        ticker.pass(LONG);
        assertThat(patience.forOneStatement()).isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void isOverAtTheInstantOfItsLimit() {
        Patience patience = Patience.interruptible(ticker, millis(10));

        ticker.pass(millis(10).minus(NANO));
        assertThat(patience.isOver()).isFalse();
        ticker.pass(NANO);
        assertThat(patience.isOver()).isTrue();
        assertThat(patience.elapsed()).isEqualTo(millis(10));
    }

    @Test
    void isOverForADecisionAfterThreeSeconds() {
        Patience patience = Patience.interruptible(ticker, millis(10));

        ticker.pass(millis(3000).minus(NANO));
        assertThat(patience.isOver()).isTrue();
        assertThat(patience.isOverForDecision()).isFalse();
        ticker.pass(NANO);
        assertThat(patience.isOverForDecision()).isTrue();
    }

    @Test
    void noPatienceIsOverFromTheStartButNotForADecision() {
        Patience patience = Patience.uninterruptible(ticker, Duration.ZERO);

        assertThat(patience.isOver()).isTrue();
        assertThat(patience.isOverForDecision()).isFalse();
        assertThat(patience.elapsed()).isEqualTo(Duration.ZERO);
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE})
    void longestWaitDoesNotOverflowWhateverTheClockShows(long now) throws InterruptedException {
        FakeTicker clock = new FakeTicker(now);
        Patience patience = Patience.interruptible(clock, LockRequest.LONGEST_DURATION);

        assertThat(patience.isOverForDecision()).isFalse();
        assertThat(patience.forOneStatement()).isEqualTo(Duration.ofSeconds(10));
        clock.pass(LockRequest.LONGEST_DURATION.minus(NANO));
        patience.pause(null);
        assertThat(clock.lastSleep()).isEqualTo(NANO);
        assertThat(patience.isOver()).isTrue();
        assertThat(patience.elapsed()).isEqualTo(LockRequest.LONGEST_DURATION);
    }

    @Test
    void interruptEndsAnInterruptibleCall() {
        try (Patience patience = Patience.interruptible(ticker, LONG)) {
            Thread.currentThread().interrupt();

            assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> patience.pause(null));
        }
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        assertThat(ticker.slept).isEmpty();
    }

    @Test
    void interruptibleCallLeavesAnEarlierInterruptWhereItIs() {
        Thread.currentThread().interrupt();
        try (Patience patience = Patience.interruptible(ticker, LONG)) {
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            assertThat(patience.isOver()).isFalse();
        }
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void uninterruptibleCallPutsAnEarlierInterruptAsideUntilItsEnd() throws InterruptedException {
        Thread.currentThread().interrupt();
        try (Patience patience = Patience.uninterruptible(ticker, LONG)) {
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            patience.pause(null);
            assertThat(ticker.slept).hasSize(1);
        }
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void uninterruptibleCallPutsAnInterruptDuringItAsideUntilItsEnd() throws InterruptedException {
        try (Patience patience = Patience.uninterruptible(ticker, LONG)) {
            Thread.currentThread().interrupt();
            patience.pause(null);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            patience.pause(null);
            assertThat(ticker.slept).hasSize(1);
        }
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void nobodyIsInterruptedWhoWasNot() throws InterruptedException {
        try (Patience patience = Patience.uninterruptible(ticker, LONG)) {
            patience.pause(null);
        }
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
    }

    /** It may return early, when somebody has unparked the thread, but not for ever. */
    @Test
    void systemTickerParksAndItsClockGoesOn() {
        long before = Ticker.SYSTEM.nanoTime();
        int parks = 0;
        while (Ticker.SYSTEM.nanoTime() - before < millis(50).toNanos()) {
            Ticker.SYSTEM.park(this, millis(10).toNanos());
            parks++;
        }

        assertThat(parks).isLessThan(20);
    }
}
