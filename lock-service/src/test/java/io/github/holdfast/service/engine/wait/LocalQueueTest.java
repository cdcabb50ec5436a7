package io.github.holdfast.service.engine.wait;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** Who is first, who is woken, and what stays behind. */
class LocalQueueTest {

    private final FakeTicker ticker = new FakeTicker();
    private static final Duration OFFER = Duration.ofMillis(100);

    private final LocalQueue queue = new LocalQueue(ticker);

    @Test
    void onlyTheFirstIsFirstUntilItLeaves() {
        LocalQueue.Place first = queue.enter("order");
        LocalQueue.Place second = queue.enter("order");
        LocalQueue.Place third = queue.enter("order");
        LocalQueue.Place other = queue.enter("report");
        assertThat(List.of(first.isFirst(), second.isFirst(), third.isFirst(), other.isFirst()))
                .containsExactly(true, false, false, true);
        second.close();
        assertThat(third.isFirst()).isFalse();
        first.close();
        assertThat(third.isFirst()).isTrue();
        third.close();
        other.close();
        assertThat(queue.size()).isZero();
    }

    @Test
    void leavingTwiceDisturbsNobody() {
        LocalQueue.Place first = queue.enter("order");
        first.close();
        LocalQueue.Place second = queue.enter("order");
        LocalQueue.Place third = queue.enter("order");
        first.close();
        assertThat(second.isFirst()).isTrue();
        assertThat(third.isFirst()).isFalse();
        second.close();
        second.close();
        assertThat(third.isFirst()).isTrue();
    }

    @Test
    void threadsAreServedInTheOrderOfTheirComing() throws Exception {
        int threads = 20;
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<Thread> waiting = new ArrayList<>();
        LocalQueue.Place before = queue.enter("order");
        for (int i = 0; i < threads; i++) {
            int number = i;
            CountDownLatch entered = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                try (LocalQueue.Place place = queue.enter("order");
                        Deadline deadline = Deadline.interruptible(Ticker.SYSTEM, Duration.ofSeconds(30))) {
                    entered.countDown();
                    if (deadline.await(place::isFirst)) {
                        served.add(number);
                    }
                } catch (InterruptedException ended) {
                    served.add(-1);
                }
            });
            thread.start();
            entered.await();
            waiting.add(thread);
        }
        before.close();
        for (Thread thread : waiting) {
            thread.join();
        }
        assertThat(served).isSorted().hasSize(threads);
        assertThat(queue.size()).isZero();
    }

    @Test
    void theFirstIsWokenWhenTheLockIsGivenBack() throws Exception {
        CountDownLatch entered = new CountDownLatch(1);
        Thread first = new Thread(() -> {
            try (LocalQueue.Place place = queue.enter("order")) {
                entered.countDown();
                LockSupport.park(place);
            }
        });
        first.start();
        entered.await();
        queue.released("report");
        await().until(() -> first.getState() == Thread.State.WAITING);
        queue.released("order");
        first.join(60_000);
        assertThat(first.isAlive()).isFalse();
    }

    @Test
    void whileTheLockIsOfferedToOthersNobodyHereLooks() {
        LocalQueue.Place waiting = queue.enter("order");
        assertThat(queue.offered("order")).isZero();
        queue.offer("order", OFFER);
        assertThat(queue.offered("order")).isEqualTo(OFFER);
        assertThat(queue.offered("report")).isZero();
        ticker.advance(queue.offered("order"));
        assertThat(queue.offered("order")).isZero();
        queue.offer("order", OFFER);
        waiting.close();
        assertThat(queue.offered("order")).as("nobody waits").isZero();
        assertThat(queue.size()).isZero();
    }

    @Test
    void anOfferHoldsForThreadsThatComeLater() {
        queue.offer("order", OFFER);
        queue.offer("report", OFFER);
        ticker.advance(Duration.ofMillis(40));
        LocalQueue.Place waiting = queue.enter("order");
        assertThat(queue.offered("order")).isEqualTo(Duration.ofMillis(60));
        waiting.close();
        ticker.advance(OFFER);
        LocalQueue.Place late = queue.enter("report");
        assertThat(queue.offered("report")).as("is over").isZero();
        late.close();
        assertThat(queue.size()).isZero();
    }

    @Test
    void countsSinceWhenAWaitedForLockWasNotOffered() {
        assertThat(queue.sinceOffered("order")).as("nobody waits").isZero();
        LocalQueue.Place waiting = queue.enter("order");
        ticker.advance(Duration.ofSeconds(3));
        assertThat(queue.sinceOffered("order")).isEqualTo(Duration.ofSeconds(3));
        queue.offer("order", OFFER);
        assertThat(queue.sinceOffered("order")).as("is being offered").isZero();
        Duration offered = queue.offered("order");
        ticker.advance(offered.plusSeconds(1));
        assertThat(queue.sinceOffered("order")).isEqualTo(Duration.ofSeconds(1));
        waiting.close();
        assertThat(queue.sinceOffered("order")).isZero();
    }

    @Test
    void aMillionNamesLeaveNothing() {
        for (int i = 0; i < 1_000_000; i++) {
            queue.enter("name " + i).close();
        }
        assertThat(queue.size()).isZero();
    }
}
