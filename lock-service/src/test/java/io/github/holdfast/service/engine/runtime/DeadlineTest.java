package io.github.holdfast.service.engine.runtime;

import static java.util.stream.Collectors.toSet;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.engine.FakeTicker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DeadlineTest {

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
            Deadline deadline = Deadline.interruptible(ticker, LONG);
            for (long full : new long[] {4, 8, 16, 32, 45, 45, 45}) {
                deadline.pause(null);
                assertThat(ticker.lastSleep())
                        .isBetween(millis(full).multipliedBy(4).dividedBy(5), millis(full));
            }
        }
    }

    @Test
    void pausesAreSpreadOverTheUpperFifth() throws InterruptedException {
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            Deadline.interruptible(ticker, LONG).pause(null);
        }
        List<Duration> firstPauses = ticker.slept;

        assertThat(firstPauses).anyMatch(pause -> pause.compareTo(Duration.ofNanos(3_300_000)) < 0);
        assertThat(firstPauses).anyMatch(pause -> pause.compareTo(Duration.ofNanos(3_900_000)) > 0);
        assertThat(firstPauses.stream().collect(toSet())).hasSizeGreaterThan(REPEATS / 2);
    }

    @Test
    void noPauseGoesPastTheLimit() throws InterruptedException {
        for (int repeat = 0; repeat < REPEATS; repeat++) {
            Deadline deadline = Deadline.interruptible(ticker, millis(70));
            while (!deadline.isOver()) {
                deadline.pause(null);
                assertThat(deadline.elapsed()).isLessThanOrEqualTo(millis(70));
            }
            assertThat(deadline.elapsed()).isEqualTo(millis(70));
        }
    }

    @Test
    void onceTheTimeIsOverPausesGoOnAsBefore() throws InterruptedException {
        Deadline deadline = Deadline.interruptible(ticker, Duration.ZERO);

        for (long full : new long[] {4, 8, 16, 32, 45, 45}) {
            deadline.pause(null);
            assertThat(ticker.lastSleep())
                    .isBetween(millis(full).multipliedBy(4).dividedBy(5), millis(full));
        }
    }

    @Test
    void noPauseIsLongerThanItIsWorthWaiting() throws InterruptedException {
        Deadline deadline = Deadline.interruptible(ticker, LONG);

        deadline.pause(Duration.ZERO);
        assertThat(ticker.slept).isEmpty();
        deadline.pause(NANO);
        assertThat(ticker.lastSleep()).isEqualTo(NANO);
        deadline.pause(LONG);
        assertThat(ticker.lastSleep()).isBetween(millis(12), millis(16));
    }

    @Test
    void shortestOfLimitAndWorthWins() throws InterruptedException {
        Deadline deadline = Deadline.interruptible(ticker, NANO.multipliedBy(10));

        deadline.pause(NANO.multipliedBy(7));
        deadline.pause(NANO.multipliedBy(7));

        assertThat(ticker.slept).containsExactly(NANO.multipliedBy(7), NANO.multipliedBy(3));
        assertThat(deadline.isOver()).isTrue();
    }

    @Test
    void aWaitIsLongAfterFourPauses() throws InterruptedException {
        Deadline deadline = Deadline.interruptible(ticker, LONG);
        for (int i = 0; i < 4; i++) {
            assertThat(deadline.isLong()).isFalse();
            deadline.pause(null);
        }
        assertThat(deadline.isLong()).isTrue();
    }

    @Test
    void whoHasBeenInAQueueHasWaitedForLongWithoutAPause() {
        Deadline deadline = Deadline.interruptible(ticker, LONG);
        ticker.pass(millis(39));
        assertThat(deadline.isLong()).isFalse();
        ticker.pass(millis(1));
        assertThat(deadline.isLong()).isTrue();
    }

    @Test
    void aPauseEndsWhenItsConditionIsFulfilledAndNotWithEachWakeUp() throws InterruptedException {
        Deadline deadline = Deadline.interruptible(
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

        deadline.pauseUntil(() -> ticker.slept.size() == 2, Duration.ofSeconds(1));
        assertThat(ticker.slept).hasSize(2);
        deadline.pauseUntil(() -> true, Duration.ofSeconds(1));
        assertThat(ticker.slept).hasSize(2);
        deadline.pauseUntil(() -> false, Duration.ofMillis(8));
        assertThat(ticker.slept).hasSize(2 + 8);
    }

    @Test
    void statementGetsWhatIsLeftBetweenOneAndTenSeconds() {
        Deadline deadline = Deadline.interruptible(ticker, Duration.ofSeconds(12));

        assertThat(deadline.forOneStatement()).isEqualTo(Duration.ofSeconds(10));
        ticker.pass(Duration.ofSeconds(2));
        assertThat(deadline.forOneStatement()).isEqualTo(Duration.ofSeconds(10));
        ticker.pass(NANO);
        assertThat(deadline.forOneStatement()).isEqualTo(Duration.ofSeconds(10).minus(NANO));
        ticker.pass(millis(8500));
        assertThat(deadline.forOneStatement()).isEqualTo(millis(1500).minus(NANO));
        ticker.pass(millis(500));
        assertThat(deadline.forOneStatement()).isEqualTo(Duration.ofSeconds(1));
        ticker.pass(LONG);
        assertThat(deadline.forOneStatement()).isEqualTo(Duration.ofSeconds(1));
    }

    @Test
    void isOverAtTheInstantOfItsLimit() {
        Deadline deadline = Deadline.interruptible(ticker, millis(10));

        ticker.pass(millis(10).minus(NANO));
        assertThat(deadline.isOver()).isFalse();
        ticker.pass(NANO);
        assertThat(deadline.isOver()).isTrue();
        assertThat(deadline.elapsed()).isEqualTo(millis(10));
    }

    @Test
    void isOverForADecisionAfterThreeSeconds() {
        Deadline deadline = Deadline.interruptible(ticker, millis(10));

        ticker.pass(millis(3000).minus(NANO));
        assertThat(deadline.isOver()).isTrue();
        assertThat(deadline.isOverForDecision()).isFalse();
        ticker.pass(NANO);
        assertThat(deadline.isOverForDecision()).isTrue();
    }

    @Test
    void noPatienceIsOverFromTheStartButNotForADecision() {
        Deadline deadline = Deadline.uninterruptible(ticker, Duration.ZERO);

        assertThat(deadline.isOver()).isTrue();
        assertThat(deadline.isOverForDecision()).isFalse();
        assertThat(deadline.elapsed()).isEqualTo(Duration.ZERO);
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE})
    void longestWaitDoesNotOverflowWhateverTheClockShows(long now) throws InterruptedException {
        FakeTicker clock = new FakeTicker(now);
        Deadline deadline = Deadline.interruptible(clock, LockRequest.LONGEST_DURATION);

        assertThat(deadline.isOverForDecision()).isFalse();
        assertThat(deadline.forOneStatement()).isEqualTo(Duration.ofSeconds(10));
        clock.pass(LockRequest.LONGEST_DURATION.minus(NANO));
        deadline.pause(null);
        assertThat(clock.lastSleep()).isEqualTo(NANO);
        assertThat(deadline.isOver()).isTrue();
        assertThat(deadline.elapsed()).isEqualTo(LockRequest.LONGEST_DURATION);
    }

    @Test
    void interruptEndsAnInterruptibleCall() {
        try (Deadline deadline = Deadline.interruptible(ticker, LONG)) {
            Thread.currentThread().interrupt();

            assertThatExceptionOfType(InterruptedException.class).isThrownBy(() -> deadline.pause(null));
        }
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        assertThat(ticker.slept).isEmpty();
    }

    @Test
    void interruptibleCallLeavesAnEarlierInterruptWhereItIs() {
        Thread.currentThread().interrupt();
        try (Deadline deadline = Deadline.interruptible(ticker, LONG)) {
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            assertThat(deadline.isOver()).isFalse();
        }
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void uninterruptibleCallPutsAnEarlierInterruptAsideUntilItsEnd() throws InterruptedException {
        Thread.currentThread().interrupt();
        try (Deadline deadline = Deadline.uninterruptible(ticker, LONG)) {
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            deadline.pause(null);
            assertThat(ticker.slept).hasSize(1);
        }
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void uninterruptibleCallPutsAnInterruptDuringItAsideUntilItsEnd() throws InterruptedException {
        try (Deadline deadline = Deadline.uninterruptible(ticker, LONG)) {
            Thread.currentThread().interrupt();
            deadline.pause(null);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            deadline.pause(null);
            assertThat(ticker.slept).hasSize(1);
        }
        assertThat(Thread.currentThread().isInterrupted()).isTrue();
    }

    @Test
    void nobodyIsInterruptedWhoWasNot() throws InterruptedException {
        try (Deadline deadline = Deadline.uninterruptible(ticker, LONG)) {
            deadline.pause(null);
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
