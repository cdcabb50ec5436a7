package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.FaultyDataSource;
import io.github.holdfast.test.FaultyDataSource.Fault;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** How a lock goes from one thread of a process to the next that waits for it. */
@OnEachDatabase
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HandOffTest {

    private Services services;
    private CountingDataSource counting;
    private FaultyDataSource faults;
    private LockService mine;
    private LockService theirs;
    private Database database;
    private FakeTicker ticker;
    private ExecutorService threads;
    private int names;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        ticker = new FakeTicker();
        services = Services.on(database);
        faults = new FaultyDataSource(database.dataSource());
        counting = new CountingDataSource(faults);
        mine = services.patientlyOpenOver(counting);
        theirs = services.open();
        threads = Executors.newCachedThreadPool();
    }

    @AfterEach
    void close() throws Exception {
        faults.disarm();
        threads.shutdownNow();
        services.close();
    }

    private LockRequest request() {
        return LockRequest.of("succession " + ++names).waitAtMost(ofSeconds(20));
    }

    private HandOffThread waiting(LockRequest request) {
        return waiting(mine, request);
    }

    private static HandOffThread waiting(LockService service, LockRequest request) {
        return HandOffThread.start(() -> service.acquire(request));
    }

    private LockInfo row(LockHandle lock) {
        return theirs.find(lock.name()).orElseThrow();
    }

    private void assertFreeAfter(LockHandle lock) throws Exception {
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.acquire(LockRequest.of(lock.name()).waitAtMost(ofSeconds(10))).close();
    }

    @Test
    void theNextOneIsGrantedTheLockByTheOneWriteOfTheRelease() throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        counting.reset();
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle second = next.lock();
        assertThat(counting.sql()).hasSize(1);
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
        assertThat(second.owner())
                .isNotEqualTo(first.owner())
                .isEqualTo(row(second).owner());
        assertThat(row(second).fencingToken()).isEqualTo(second.fencingToken());
        assertThat(second.state()).isEqualTo(LockState.HELD);
        assertThat(first.state()).isEqualTo(LockState.RELEASED);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).isEmpty();
        assertFreeAfter(second);
    }

    @Test
    void eachHasTheLeaseOfItsOwnRequest() throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request.lease(ofSeconds(60)));
        first.close();
        LockHandle second = next.lock();
        assertThat(second.remaining()).isBetween(ofSeconds(40), ofSeconds(60));
        assertThat(row(second).nodeId()).isNull();
        HandOffThread last = waiting(request);
        second.close();
        assertThat(row(last.lock()).nodeId()).isNotNull();
        assertFreeAfter(last.lock());
    }

    @Test
    void whoWaitsForThisProcessAsksTheDatabaseNothing() throws Exception {
        LockRequest request = request();
        try (LockHandle held = mine.acquire(request)) {
            HandOffThread next = waiting(request.waitAtMost(ofSeconds(5)));
            counting.reset();
            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(next::lock)
                    .withCauseInstanceOf(LockNotAcquiredException.class);
            assertThat(counting.sql())
                    .as("the last look, which tells who holds it")
                    .hasSize(1);
            assertThat(held.state()).isEqualTo(LockState.HELD);
        }
        theirs.tryAcquire(LockRequest.of(request.name())).orElseThrow().close();
    }

    @Test
    void theLockStaysInThisProcessWhileNoOtherNodeWaits() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        ticker.advance(ofSeconds(1));
        counting.reset();
        first.close();
        LockHandle second = next.lock();
        assertThat(counting.sql()).as("whether others wait, and the grant").hasSize(2);
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
        HandOffThread last = waiting(timed, request);
        ticker.advance(ofMillis(999));
        counting.reset();
        second.close();
        LockHandle third = last.lock();
        assertThat(counting.sql()).as("the grant alone").hasSize(1);
        ticker.advance(ofSeconds(5));
        counting.reset();
        third.close();
        assertThat(counting.sql()).as("nobody waits here").hasSize(1);
    }

    @Test
    void afterTenSecondsTheLockIsOfferedAlthoughNobodySaysThatHeWaits() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        ticker.advance(ofSeconds(10));
        counting.reset();
        first.close();
        assertThat(counting.sql()).as("the row is freed").hasSize(1);
        assertOfferedToOthersBefore(next, request);
    }

    @Test
    void whoIsNotInTheQueueOfThisServiceIsOfferedTheLockToo() throws Exception {
        LockRequest request = request();
        AtomicBoolean isGranted = new AtomicBoolean();
        List<Future<?>> work = new ArrayList<>();
        for (int thread = 0; thread < 3; thread++) {
            work.add(threads.submit(() -> {
                while (!isGranted.get()) {
                    mine.acquire(request).close();
                }
                return null;
            }));
        }
        try {
            mine.acquire(request.owner("chosen")).close();
        } finally {
            isGranted.set(true);
        }
        for (Future<?> thread : work) {
            thread.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void aNodeThatSaysThatItWaitsIsOfferedTheLockFirst() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        Future<LockHandle> other = threads.submit(() -> theirs.acquire(request));
        // The node says so with its mark, and then with the row of its waiter.
        await().until(() ->
                database.queryForLong("select count(*) from lock_waiter w join lock_node n on n.id = w.node_id"
                                + " where n.waits_until is not null and n.ended = false and w.name = '" + request.name()
                                + "'")
                        == 1);
        ticker.advance(ofMillis(999));
        first.close();
        LockHandle second = next.lock();
        HandOffThread last = waiting(timed, request);
        ticker.advance(ofMillis(1));
        second.close();
        LockHandle third = other.get(60, TimeUnit.SECONDS);
        assertThat(third.fencingToken()).isEqualTo(second.fencingToken() + 1);
        third.close();
        ticker.advance(ofSeconds(1));
        assertFreeAfter(last.lock());
    }

    @Test
    void ifTheDatabaseDoesNotTellWhoWaitsTheLockIsOffered() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        ticker.advance(ofSeconds(1));
        faults.arm(1, Fault.BEFORE_SEND);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(faults.fired()).isTrue();
        assertOfferedToOthersBefore(next, request);
    }

    private void assertOfferedToOthersBefore(HandOffThread next, LockRequest request) throws Exception {
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).hasValueSatisfying(LockHandle::close);
        ticker.advance(ofSeconds(1));
        assertFreeAfter(next.lock());
    }

    /** A service for which time passes only when {@link #ticker} advances. */
    private LockService timed() {
        return services.build(services.patientPoolOver(counting), builder -> builder.adjusted(ticker.inSettings()));
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void withoutAnAnswerTheNextOneHasTheLockOnceAndNobodyElse(Fault fault) throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        faults.arm(1, fault);
        assertThat(first.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        assertThat(faults.fired()).isTrue();
        faults.disarm();
        if (fault == Fault.DELAYED) {
            faults.land();
        }
        LockHandle second = next.lock();
        assertThat(second.holdCount()).isEqualTo(1);
        assertThat(row(second).owner()).isEqualTo(second.owner());
        assertThat(row(second).fencingToken()).isEqualTo(second.fencingToken()).isGreaterThan(first.fencingToken());
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).isEmpty();
        assertFreeAfter(second);
    }

    @Test
    void whoseLockIsGoneIsToldSoAlthoughAnotherOneWaits() throws Exception {
        LockRequest request = request().lease(ofSeconds(60));
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        theirs.admin().forceRelease(request.name(), "to see what happens");
        assertThat(first.release()).isEqualTo(ReleaseOutcome.LOST);
        next.cancel(true);
    }

    @Test
    void whoIsInterruptedOrLateHasNothingAndTheLockIsFree() throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread interrupted = waiting(request);
        interrupted.interrupt();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(interrupted::lock)
                .withCauseInstanceOf(InterruptedException.class);
        HandOffThread late = waiting(request.waitAtMost(ofMillis(300)));
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(late::lock)
                .withCauseInstanceOf(LockNotAcquiredException.class);
        assertFreeAfter(first);
    }

    @Test
    void whatKeepsEverybodyOutForAWhileKeepsTheNextOneOutToo() throws Exception {
        LockRequest request = request();
        // Before the grant, from which the time counts.
        long start = System.nanoTime();
        LockHandle first = mine.acquire(request.minimumHold(ofSeconds(2)));
        HandOffThread next = waiting(request);
        first.close();
        LockHandle second = next.lock();
        assertThat(System.nanoTime() - start)
                .isGreaterThanOrEqualTo(ofSeconds(2).toNanos());
        assertFreeAfter(second);
    }

    @Test
    void whoWaitsWhenTheServiceIsClosedIsToldSo() throws Exception {
        LockRequest request = request();
        LockHandle held = mine.acquire(request);
        HandOffThread next = waiting(request);
        mine.close();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(next::lock)
                .withCauseInstanceOf(IllegalStateException.class);
        assertThat(held.state()).isEqualTo(LockState.LOST);
        theirs.acquire(request).close();
    }

    @Test
    void threadsThatComeAndGoNeverHaveItTogetherAndLeaveNothing() throws Exception {
        LockRequest request = request();
        AtomicInteger inside = new AtomicInteger();
        List<Future<?>> work = new ArrayList<>();
        for (int thread = 0; thread < 6; thread++) {
            LockService service = thread < 4 ? mine : theirs;
            long wait = 1 + thread * 7L;
            work.add(threads.submit(() -> {
                for (int turn = 0; turn < 100; turn++) {
                    try (LockHandle lock = service.acquire(request.waitAtMost(ofMillis(wait * 20)))) {
                        assertThat(inside.incrementAndGet()).isEqualTo(1);
                        assertThat(lock.state()).isEqualTo(LockState.HELD);
                        inside.decrementAndGet();
                    } catch (LockNotAcquiredException refused) {
                        assertThat(refused.getMessage()).contains(request.name());
                    } catch (LockStoreException busy) {
                        FairTest.assertBusy(busy);
                    }
                }
                return null;
            }));
        }
        for (Future<?> thread : work) {
            thread.get(120, TimeUnit.SECONDS);
        }
        assertThat(mine.admin().waiters()).isEmpty();
        theirs.acquire(request).close();
    }
}
