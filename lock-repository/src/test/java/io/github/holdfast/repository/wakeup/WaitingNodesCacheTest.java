package io.github.holdfast.repository.wakeup;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.WaiterRows;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import org.junit.jupiter.api.Test;

/** When a release asks which waiter is next. */
class WaitingNodesCacheTest {

    private long now = Long.MAX_VALUE - Duration.ofMillis(150).toNanos();
    private final Queue<Runnable> background = new ArrayDeque<>();
    private boolean isWaiting;
    private boolean isBroken;
    private final List<String> woken = new ArrayList<>();
    private final WaitingNodesCache cache =
            new WaitingNodesCache((locks, before) -> true, woken::add, this::isAnyWaiting, background::add, () -> now);

    private boolean isAnyWaiting() {
        if (isBroken) {
            throw StoreException.of(Failure.UNAVAILABLE, new SQLException("broken"));
        }
        return isWaiting;
    }

    private void pass(Duration time) {
        now += time.toNanos();
    }

    private void release(int times) {
        for (int i = 0; i < times; i++) {
            cache.mayAnyWait();
        }
    }

    private void answer() {
        background.remove().run();
    }

    private void learn() {
        release(WaitingNodesCache.BUSY + 1);
        answer();
        assertThat(cache.mayAnyWait()).isFalse();
    }

    @Test
    void aServiceThatReleasesSeldomAlwaysAsks() {
        for (int i = 0; i < 100; i++) {
            assertThat(cache.mayAnyWait()).isTrue();
            pass(WaitingNodesCache.LASTS.dividedBy(WaitingNodesCache.BUSY));
        }
        assertThat(background).isEmpty();
    }

    @Test
    void aBusyServiceReadsOnceAndThenDoesNotAskForAMoment() {
        release(WaitingNodesCache.BUSY);
        assertThat(background).isEmpty();
        release(100);
        assertThat(background).hasSize(1);
        assertThat(cache.mayAnyWait()).as("no answer yet").isTrue();
        answer();
        assertThat(cache.mayAnyWait()).isFalse();
        pass(WaitingNodesCache.LASTS.minusNanos(1));
        assertThat(cache.mayAnyWait()).isFalse();
        pass(Duration.ofNanos(1));
        assertThat(cache.mayAnyWait()).isTrue();
    }

    @Test
    void whileItStaysBusyTheAnswerIsReadAgainInTime() {
        learn();
        for (int i = 0; i < 20; i++) {
            pass(WaitingNodesCache.LASTS.dividedBy(2).plusNanos(1));
            release(100);
            assertThat(background).hasSize(1);
            answer();
            assertThat(cache.mayAnyWait()).isFalse();
        }
    }

    /** A service may have begun to wait between the query and its answer. */
    @Test
    void anAnswerCountsFromItsQueryOn() {
        WaitingNodesCache slow = new WaitingNodesCache(
                (locks, before) -> true,
                woken::add,
                () -> {
                    pass(WaitingNodesCache.LASTS);
                    return false;
                },
                background::add,
                () -> now);
        for (int i = 0; i <= WaitingNodesCache.BUSY; i++) {
            slow.mayAnyWait();
        }
        answer();
        assertThat(slow.mayAnyWait()).isTrue();
    }

    @Test
    void aServiceThatWaitsIsNoticedWithTheNextAnswer() {
        learn();
        isWaiting = true;
        pass(WaitingNodesCache.LASTS.dividedBy(2).plusNanos(1));
        assertThat(cache.mayAnyWait()).isFalse();
        answer();
        assertThat(cache.mayAnyWait()).isTrue();
        release(100);
        assertThat(background).as("not read at each release").isEmpty();
    }

    @Test
    void withoutAnAnswerReleasesAsk() {
        isBroken = true;
        release(WaitingNodesCache.BUSY + 1);
        answer();
        assertThat(cache.mayAnyWait()).isTrue();
    }

    @Test
    void whatNeverRunsInTheBackgroundIsTriedAgain() {
        release(WaitingNodesCache.BUSY + 1);
        background.clear();
        pass(WaitingNodesCache.LASTS.plusNanos(1));
        release(WaitingNodesCache.BUSY + 1);
        assertThat(background).as("it may still run").isEmpty();
        pass(WaitingNodesCache.AT_MOST);
        release(WaitingNodesCache.BUSY + 1);
        assertThat(background).hasSize(1);
    }

    /** Reads that pile up would delay all else that the service does for waiters. */
    @Test
    void onlyOneReadIsUnderWay() {
        release(WaitingNodesCache.BUSY + 1);
        for (int i = 0; i < 9; i++) {
            pass(WaitingNodesCache.LASTS);
            release(WaitingNodesCache.BUSY + 1);
        }
        assertThat(background).hasSize(1);
        answer();
        pass(WaitingNodesCache.LASTS);
        release(WaitingNodesCache.BUSY + 1);
        assertThat(background).hasSize(1);
    }

    @Test
    void aReleaseThatTookLongAsksAfterwards() {
        long since = now;
        pass(WaiterRows.UNNOTICED.minusNanos(1));
        cache.askIfLate(since, "job");
        assertThat(background).isEmpty();
        pass(Duration.ofNanos(1));
        cache.askIfLate(since, "job");
        answer();
        assertThat(woken).containsExactly("job");
    }
}
