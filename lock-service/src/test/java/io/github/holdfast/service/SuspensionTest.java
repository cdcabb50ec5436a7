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
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.FaultyDataSource;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * The machine is suspended: time passes for the database and on the wall clock, but not on the monotonic clock, by which holders
 * count. That time has passed for the database is the same as if all instants in the tables were earlier.
 */
@OnEachDatabase
class SuspensionTest {

    private static final Duration SOON = ofSeconds(60);

    private final FakeTicker ticker = new FakeTicker();
    private final Queue<LossCause> losses = new ConcurrentLinkedQueue<>();
    private final AtomicReference<Runnable> whenGranted = new AtomicReference<>(() -> {});
    private Database database;
    private Services services;
    private FaultyDataSource faults;
    private CountingDataSource counting;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database onDatabase) {
        database = onDatabase;
        services = Services.on(database);
        faults = new FaultyDataSource(database.dataSource());
        counting = new CountingDataSource(faults);
        mine = services.build(
                services.poolOver(counting, faults),
                builder -> builder.adjusted(ticker.inSettings())
                        .listener(new LockListener() {
                            @Override
                            public void acquired(String lockName, long fencingToken, Duration waited) {
                                whenGranted.getAndSet(() -> {}).run();
                            }
                        })
                        .withoutHousekeeping());
        theirs = services.build(LockServiceBuilder::withoutHousekeeping);
    }

    @AfterEach
    void close() throws Exception {
        ticker.letWake();
        faults.up();
        services.close();
    }

    private static ConditionFactory soon() {
        return await().atMost(SOON);
    }

    private LockHandle held(LockRequest request) throws InterruptedException {
        LockHandle lock = mine.acquire(request);
        lock.onLost(loss -> losses.add(loss.cause()));
        return lock;
    }

    /** Waits until the thread that watches the holds has seen them as they are now. */
    private void awaitAnotherLook() {
        long before = ticker.sleeps();
        soon().until(() -> ticker.sleeps() > before + 1);
    }

    private void pass(Duration time) {
        String earlier = " - interval '" + time.toSeconds() + "' second";
        database.execute("update distributed_lock set expires_at = expires_at" + earlier);
        database.execute("update lock_node set expires_at = expires_at" + earlier);
    }

    private void suspend(Duration time) {
        pass(time);
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
        pass(ofMinutes(61));
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
    void aRenewalThatIsAnsweredLaterDoesNotOutlastTheLease() throws Exception {
        LateAnswer late = new LateAnswer(database.dataSource());
        CountingDataSource looks = new CountingDataSource(late.dataSource());
        LockService slow = services.build(
                services.patientPoolOver(looks),
                builder -> builder.adjusted(ticker.inSettings()).withoutHousekeeping());
        LockHandle lock = slow.acquire(LockRequest.of("renewed").lease(ofHours(1)));
        FutureTask<Duration> renewal = new FutureTask<>(() -> {
            late.choose();
            lock.renew(ofHours(2));
            return lock.remaining();
        });
        new Thread(renewal).start();
        late.awaitDone();
        looks.reset();
        suspend(ofMinutes(30));
        soon().until(() -> looks.statements() == 1);
        awaitAnotherLook();
        late.answer();
        assertThat(renewal.get(60, TimeUnit.SECONDS)).isBetween(ofMinutes(80), ofMinutes(90));
        lock.close();
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
    void aNodeThatDiedMeanwhileIsFoundOutByABeatAtOnce() throws Exception {
        LockHandle lock = held(LockRequest.of("node"));
        suspend(ofSeconds(31));
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(theirs.tryAcquire(LockRequest.of("node"))).isPresent();
    }

    @Test
    void theDatabaseIsAskedUntilItAnswers() throws Exception {
        held(LockRequest.of("away").lease(ofHours(1)));
        pass(ofMinutes(61));
        faults.down();
        ticker.suspend(ofMinutes(61));
        await().during(ofMillis(1500)).atMost(SOON).until(losses::isEmpty);
        faults.up();
        soon().untilAsserted(() -> assertThat(losses).containsExactly(LossCause.EXPIRED));
    }

    @Test
    void aWallClockThatIsSetCostsOneLookForEachLeaseAndNoLock() throws Exception {
        LockHandle one = held(LockRequest.of("set 1").lease(ofHours(1)));
        LockHandle two = held(LockRequest.of("set 2").lease(ofHours(1)));
        for (Duration step : new Duration[] {ofMinutes(10), ofMinutes(-10)}) {
            counting.reset();
            ticker.suspend(step);
            soon().until(() -> counting.sql().size() >= 2);
            await().during(ofMillis(300)).until(() -> counting.sql().size() == 2);
        }
        for (LockHandle lock : new LockHandle[] {one, two}) {
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            assertThat(lock.remaining()).isGreaterThan(ofMinutes(59));
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertThat(losses).isEmpty();
    }

    @Test
    void clocksThatPartByLessOrWhenNothingIsHeldCostNothing() throws Exception {
        held(LockRequest.of("idle").lease(ofHours(1))).close();
        awaitAnotherLook();
        ticker.suspend(ofHours(1));
        awaitAnotherLook();
        LockHandle lock = held(LockRequest.of("slewed").lease(ofHours(1)));
        counting.reset();
        ticker.suspend(ofMillis(999));
        await().during(ofMillis(300)).until(() -> counting.sql().isEmpty());
        lock.close();
    }
}
