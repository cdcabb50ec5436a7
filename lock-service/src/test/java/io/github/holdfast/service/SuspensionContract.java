package io.github.holdfast.service;

import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.FakeTicker;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The machine is suspended: time passes for the database and on the wall clock, but not on the monotonic clock, by which holders
 * count. That time has passed for the database is the same as if all instants in the tables were earlier.
 */
abstract class SuspensionContract {

    static final Duration SOON = ofSeconds(60);

    final FakeTicker ticker = new FakeTicker();
    private final Queue<LossCause> losses = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Runnable> whenGranted = new AtomicReference<>(() -> {});

    private TestServices services;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void build() {
        services = services(ticker);
        mine = services.buildBreakable(builder -> builder.adjusted(ticker.inSettings())
                .listener(new LockListener() {
                    @Override
                    public void acquired(String lockName, long fencingToken, Duration waited) {
                        whenGranted.getAndSet(() -> {}).run();
                    }
                })
                .withoutHousekeeping());
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
    }

    /** Opens the services of the leaf. */
    abstract TestServices services(FakeTicker ticker);

    @AfterEach
    void close() throws Exception {
        ticker.letWake();
        services.refuseConnections(false);
        services.close();
    }

    static ConditionFactory soon() {
        return await().atMost(SOON);
    }

    final LockHandle held(LockRequest request) throws InterruptedException {
        LockHandle lock = mine.acquire(request);
        lock.onLost(loss -> losses.add(loss.cause()));
        return lock;
    }

    /** Waits until the thread that watches the holds has seen them as they are now. */
    final void awaitAnotherLook() {
        long before = ticker.sleeps();
        soon().until(() -> ticker.sleeps() > before + 1);
    }

    final void suspend(Duration time) {
        services.passInDatabase(time);
        ticker.suspend(time);
    }

    @Test
    void aLeaseThatEndedMeanwhileIsToldAlthoughNobodyAsks() throws Exception {
        LockHandle lock = held(LockRequest.of("ended").lease(ofHours(1)));
        suspend(ofMinutes(61));
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(theirs.tryAcquire(LockRequest.of("ended"))).isPresent();
    }

    @Test
    void aLeaseThatSomebodyElseHasTakenOverMeanwhileIsToldSo() throws Exception {
        LockHandle lock = held(LockRequest.of("taken").lease(ofHours(1)));
        services.passInDatabase(ofMinutes(61));
        LockHandle next = theirs.tryAcquire(LockRequest.of("taken")).orElseThrow();
        ticker.suspend(ofMinutes(61));
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.TAKEN_OVER));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aLeaseThatEndedBeforeTheThreadThatWatchesItRanIsToldToo() throws Exception {
        held(LockRequest.of("earlier").lease(ofHours(1))).close();
        awaitAnotherLook();
        ticker.keepAsleep();
        soon().until(() -> ticker.sleeping() == 1);
        held(LockRequest.of("ended").lease(ofHours(1)));
        suspend(ofMinutes(61));
        ticker.letWake();
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
    }

    @Test
    void aLeaseThatEndedWhileItsGrantWasAnsweredIsToldToo() throws Exception {
        whenGranted.set(() -> suspend(ofMinutes(61)));
        LockHandle lock = mine.acquire(LockRequest.of("late").lease(ofHours(1)));
        soon().until(() -> lock.state() == LockState.LOST);
        assertThat(theirs.tryAcquire(LockRequest.of("late"))).isPresent();
    }

    @Test
    void aLeaseThatIsShorterByThenIsBelievedInForNoLonger() throws Exception {
        LockHandle lock = held(LockRequest.of("shorter").lease(ofHours(1)));
        suspend(ofMinutes(50));
        soon().until(() -> lock.remaining().compareTo(ofMinutes(10)) <= 0);
        assertThat(lock.remaining()).isGreaterThan(ofMinutes(8));
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        lock.renew(ofHours(1));
        assertThat(lock.remaining()).isGreaterThan(ofMinutes(59));
        lock.close();
    }

    @Test
    void aNodeThatWasEndedMeanwhileIsFoundOutByABeatAtOnce() throws Exception {
        LockHandle lock = held(LockRequest.of("node"));
        services.passInDatabase(ofSeconds(31));
        assertThat(theirs.tryAcquire(LockRequest.of("node"))).isPresent();
        ticker.suspend(ofSeconds(31));
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
    }

    @Test
    void aNodeThatNoneHasEndedMeanwhileGoesOn() throws Exception {
        LockHandle lock = held(LockRequest.of("node"));
        suspend(ofSeconds(31));
        soon().until(() -> mine.find("node").orElseThrow().expiresIn().compareTo(ofSeconds(25)) > 0);
        assertThat(losses).isEmpty();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(theirs.tryAcquire(LockRequest.of("node"))).isEmpty();
        lock.close();
    }

    @Test
    void theDatabaseIsAskedUntilItAnswers() throws Exception {
        held(LockRequest.of("away").lease(ofHours(1)));
        services.passInDatabase(ofMinutes(61));
        services.refuseConnections(true);
        ticker.suspend(ofMinutes(61));
        await().during(ofMillis(1500)).atMost(SOON).until(losses::isEmpty);
        services.refuseConnections(false);
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
    }
}
