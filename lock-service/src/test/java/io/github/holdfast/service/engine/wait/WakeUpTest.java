package io.github.holdfast.service.engine.wait;

import static io.github.holdfast.service.engine.runtime.ServiceSettings.WakeUp.WHERE_POSSIBLE;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.rows.LockRows;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.CapturedLog;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.service.NodeWorker;
import io.github.holdfast.service.Services;
import io.github.holdfast.service.WatchedDataSource;
import io.github.holdfast.service.engine.EngineComponents;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.AcquireResult;
import io.github.holdfast.service.engine.acquire.GrantStep;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ProcessIdentity;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.process.JavaProcess;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Who waits is woken by the release on another node, and finds the lock by itself when it is not. */
@OnEachDatabase({POSTGRESQL, MARIADB, MYSQL}) // Those that wake sessions.
class WakeUpTest {

    private static final int ROUNDS = 20;
    private static final Duration SOON = ofSeconds(60);

    /** How long a service that is closed waits for each of its threads, at least. */
    private static final Duration CLOSE_LIMIT = ofSeconds(3);

    private static final String NAME = "hot \u6f22";
    private static final LockRequest REQUEST = LockRequest.of(NAME).waitAtMost(ofSeconds(60));

    private final ExecutorService threads = Executors.newCachedThreadPool();

    /** One for each service: its waiters are woken by others only while its own poller sleeps. */
    private final List<EndlessPauses> endless = new ArrayList<>();

    private Database database;
    private Services services;
    private SentWakeUps sent;

    /** Releases. */
    private LockService theirs;

    @BeforeEach
    void open(Database injected) throws Exception {
        database = injected;
        services = Services.on(database);
        database.execute("delete from distributed_lock", "delete from lock_node", "delete from lock_waiter");
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        sent = SentWakeUps.of(counting, database);
        theirs = services.build(services.patientPoolOver(counting), builder -> builder);
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdown();
        sent.close();
        services.close();
        soon().until(() -> waiterRows() == 0);
    }

    private String clock() {
        return database.kind() == TestDatabase.POSTGRESQL ? "clock_timestamp()" : "utc_timestamp(6)";
    }

    private long marked() {
        return database.queryForLong("select count(*) from lock_node where waits_until > " + clock());
    }

    private static ConditionFactory soon() {
        return await().pollInterval(ofMillis(10)).atMost(SOON);
    }

    private LockServiceBuilder untilWoken(LockServiceBuilder builder) {
        return Services.adjusted(builder, settings -> settings.withTicker(endlessPauses()));
    }

    private EndlessPauses endlessPauses() {
        EndlessPauses pauses = new EndlessPauses();
        endless.add(pauses);
        return pauses;
    }

    private int pausing() {
        return endless.stream().mapToInt(EndlessPauses::pausing).sum();
    }

    /** A service whose threads, once they wait for long, find nothing by themselves. */
    private LockService sleeper() {
        return services.build(this::untilWoken);
    }

    private LockService sleeper(HikariDataSource pool) {
        return services.build(pool, this::untilWoken);
    }

    /** Announces a waiter, of a service with these pauses. */
    private void announce(WaiterNotifier notifier, Waiter waiter, Instant seen, EndlessPauses pauses) {
        soon().until(() -> notifier.announce(waiter, seen, SOON));
        soon().until(pauses::isPollerPausing);
        letMarksLast();
        awaitLongSleep();
    }

    /** Pollers that pause renew no mark, and on a busy machine a thread may take seconds. */
    private void letMarksLast() {
        database.execute("update lock_node set waits_until = expires_at where waits_until > " + clock());
    }

    private Future<LockHandle> acquiring(LockService service, LockRequest request) {
        return threads.submit(() -> service.acquire(request));
    }

    private Future<LockHandle> acquiring(LockService service, SemaphoreRequest request) {
        return threads.submit(() -> service.semaphore(request).acquire());
    }

    private void awaitPausing(int count) {
        soon().until(() -> pausing() == count);
        if (count > 0) {
            letMarksLast();
            awaitLongSleep();
        }
    }

    /**
     * On MySQL and MariaDB, a ring between two sleeps is lost, and only the poller would find the lock. Just after a ring, and after it has
     * begun to listen, a service sleeps briefly and then reads once which locks are free. A long sleep lasts five seconds.
     */
    private void awaitLongSleep() {
        if (database.kind() != POSTGRESQL) {
            soon().until(() -> database.queryForLong("select count(*) from information_schema.processlist"
                            + " where info = 'select sleep(5)' and time < 4")
                    >= database.queryForLong(
                            "select count(distinct bell) from lock_node where waits_until > " + clock()));
        }
    }

    private static <T> T get(Future<T> acquired) throws Exception {
        return acquired.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    // Waking

    @Test
    void aReleaseOnAnotherNodeWakesTheOneWhoWaits() throws Exception {
        List<Duration> woken = handOvers(sleeper(), () -> awaitPausing(1));
        assertThat(sent.soFar()).isEqualTo(ROUNDS);
        CountingDataSource looks = new CountingDataSource(database.dataSource());
        LockService polling = services.build(services.patientPoolOver(looks), LockServiceBuilder::withoutWakeUp);
        List<Duration> polled = handOvers(polling, () -> {
            looks.reset();
            soon().until(() -> looks.statements() >= 8);
        });
        System.out.printf(
                "From a release to the next grant, median of %d: %d ms; by polling %d ms%n",
                ROUNDS, woken.get(ROUNDS / 2).toMillis(), polled.get(ROUNDS / 2).toMillis());
    }

    /** How long each took, in the order of that. */
    private List<Duration> handOvers(LockService mine, Runnable awaitThatItWaits) throws Exception {
        List<Duration> took = new ArrayList<>();
        for (int round = 0; round < ROUNDS; round++) {
            LockRequest request = round % 2 == 0 ? REQUEST : REQUEST.lease(ofSeconds(60));
            LockHandle held = theirs.acquire(request);
            Future<Long> granted = threads.submit(() -> {
                try (LockHandle lock = mine.acquire(request)) {
                    return System.nanoTime();
                }
            });
            awaitThatItWaits.run();
            long released = System.nanoTime();
            assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
            took.add(Duration.ofNanos(granted.get(SOON.toSeconds(), TimeUnit.SECONDS) - released));
        }
        Collections.sort(took);
        return took;
    }

    /** It knows the row from its last look, and expects that the release was the only change since. */
    @Test
    void whoIsWokenLooksAgainOnlyIfThereWereOtherChanges() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService mine = sleeper(services.patientPoolOver(counting));
        assertThat(looksWhenWoken(mine, counting, () -> {})).isZero();
        assertThat(looksWhenWoken(
                        mine, counting, () -> database.execute("update distributed_lock set version = version + 1")))
                .isEqualTo(1);
        assertThat(looksWhenWoken(mine, counting, () -> {}))
                .as("after a change that was not expected")
                .isEqualTo(1);
    }

    private long looksWhenWoken(LockService mine, CountingDataSource counting, Runnable meanwhile) throws Exception {
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        meanwhile.run();
        counting.reset();
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle granted = get(waiting);
        long looks = counting.sql().stream()
                .filter(sql -> sql.startsWith("select") && sql.contains("fencing_token"))
                .count();
        granted.close();
        return looks;
    }

    /** Both know from the turns before that the other one waits. */
    @Test
    void aReleaseDoesNotCountWhoWaitsElsewhereIfNobodyWaitsHere() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService mine = sleeper(services.patientPoolOver(counting));
        LockService other = sleeper();
        LockHandle held = other.acquire(REQUEST);
        for (LockService next : List.of(mine, other, mine)) {
            held = handOver(held, next);
        }
        Future<LockHandle> waiting = acquiring(other, REQUEST);
        awaitPausing(1);
        // Longer than this process may keep a lock to its own threads.
        await().pollDelay(ofMillis(300)).until(() -> true);
        counting.reset();
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(counting.sql()).noneMatch(sql -> sql.contains("count(distinct"));
        get(waiting).close();
    }

    private LockHandle handOver(LockHandle held, LockService next) throws Exception {
        Future<LockHandle> waiting = acquiring(next, REQUEST);
        awaitPausing(1);
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        return get(waiting);
    }

    @Test
    void theReleaseOfPermitsWakesWhoWaitsForThem() throws Exception {
        SemaphoreRequest request = SemaphoreRequest.of(NAME).limit(2).waitAtMost(ofSeconds(60));
        LockHandle held = theirs.semaphore(request.permits(2)).acquire();
        LockService mine = sleeper();
        Future<LockHandle> waiting = acquiring(mine, request);
        awaitPausing(1);
        held.release();
        LockHandle granted = get(waiting);
        LockHandle other = theirs.semaphore(request).acquire();
        Future<LockHandle> again = acquiring(mine, request);
        awaitPausing(1);
        other.release();
        get(again).close();
        granted.close();
    }

    @Test
    void whoIsWokenAndGetsPermitsWakesTheNextIfMoreAreLeft() throws Exception {
        SemaphoreRequest request = SemaphoreRequest.of(NAME).limit(2).waitAtMost(ofSeconds(60));
        LockHandle held = theirs.semaphore(request.permits(2)).acquire();
        Future<LockHandle> one = acquiring(sleeper(), request);
        Future<LockHandle> other = acquiring(sleeper(), request);
        awaitPausing(2);
        held.release();
        LockHandle first = get(one);
        get(other).close();
        first.close();
    }

    @Test
    void theReleaseOfAHolderWithAChosenOwnerWakesToo() throws Exception {
        LockService mine = sleeper();
        LockHandle held = theirs.acquire(REQUEST.owner("chosen"));
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        held.release();
        get(waiting).close();
        assertThat(sent.soFar()).isEqualTo(1);
    }

    @Test
    void aServiceThatOnlyPollsWakesOthers() throws Exception {
        LockService polling = services.build(LockServiceBuilder::withoutWakeUp);
        LockService mine = sleeper();
        LockHandle held = polling.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        held.release();
        // Before the next proof that wake-ups arrive, a minute after the last one. It would find the lock, too.
        waiting.get(30, TimeUnit.SECONDS).close();
    }

    @Test
    void whoWaitsWithAChosenOwnerIsWokenToo() throws Exception {
        LockService mine = sleeper();
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> one = acquiring(mine, REQUEST.owner("chosen"));
        Future<LockHandle> other = acquiring(mine, REQUEST.owner("chosen too"));
        awaitPausing(2);
        held.release();
        soon().until(() -> one.isDone() || other.isDone());
        get(one.isDone() ? one : other).close();
        get(one).close();
        get(other).close();
    }

    @Test
    void aReleaseOnTheSameNodeWakesTheOneWhoWaitsAndNotifiesNobody() throws Exception {
        LockService mine = sleeper();
        LockHandle held = mine.acquire(REQUEST);
        // One whose owner is its own would be granted the lock by the release.
        Future<LockHandle> waiting = acquiring(mine, REQUEST.owner("chosen"));
        awaitPausing(1);
        held.release();
        get(waiting).close();
        assertThat(sent.soFar()).isZero();
    }

    @Test
    void onlyThoseAreWokenWhoWaitForThatName() throws Exception {
        LockService mine = sleeper();
        LockHandle held = theirs.acquire(REQUEST);
        LockHandle other = theirs.acquire(LockRequest.of("other"));
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        Future<LockHandle> waitingForOther =
                acquiring(mine, LockRequest.of("other").waitForever());
        awaitPausing(2);
        held.release();
        get(waiting).close();
        assertThat(pausing()).isEqualTo(1);
        assertThat(waitingForOther).isNotDone();
        other.release();
        get(waitingForOther).close();
    }

    @Test
    void aPartialReleaseWakesNobody() throws Exception {
        LockService mine = sleeper();
        LockHandle held = theirs.acquire(REQUEST);
        LockHandle nested = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        nested.release();
        assertThat(sent.soFar()).isZero();
        held.release();
        get(waiting).close();
    }

    @Test
    void whoIsWokenInVainAgainAndAgainLooksNoMoreOftenThanByPolling() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService mine = services.build(services.patientPoolOver(counting), builder -> builder);
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        soon().until(() -> marked() == 1);
        counting.reset();
        long start = System.nanoTime();
        Duration elapsed = Duration.ZERO;
        for (; elapsed.compareTo(ofSeconds(3)) < 0; elapsed = Duration.ofNanos(System.nanoTime() - start)) {
            sent.send(NAME);
        }
        long looks = counting.sql().stream()
                .filter(sql -> sql.contains("distributed_lock") && !sql.contains("lock_waiter"))
                .count();
        // What was counted took place until now.
        elapsed = Duration.ofNanos(System.nanoTime() - start);
        long polls = elapsed.dividedBy(Deadline.LONGEST_PAUSE.dividedBy(2));
        long marks = elapsed.toSeconds() + 1;
        assertThat(looks).isBetween(1L, polls + marks);
        held.release();
        get(waiting).close();
    }

    @Test
    void closingTheServiceWakesThoseWhoWait() throws Exception {
        LockService mine = sleeper();
        theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        mine.close();
        assertThatThrownBy(() -> get(waiting))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(IllegalStateException.class);
    }

    @Test
    void aWaitEndsWhenItIsOverAlthoughNobodyReleases() throws Exception {
        LockService mine = services.open();
        theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST.waitAtMost(ofMillis(700)));
        assertThatThrownBy(() -> get(waiting)).hasCauseInstanceOf(LockNotAcquiredException.class);
    }

    @Test
    void aWaitLeavesNothingBehind() throws Exception {
        Ticker pauses = endlessPauses();
        LockEngine engine = engineOver(database.dataSource(), pauses);
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> granted = threads.submit(() -> Deadline.uninterruptibly(
                pauses,
                SOON,
                deadline -> engine.acquirer()
                        .acquire(REQUEST, GrantStep.NONE, deadline)
                        .orElseThrow()));
        awaitPausing(1);
        assertThat(engine.access().waiterNotifier().size()).isEqualTo(1);
        held.release();
        get(granted).close();
        assertThat(engine.access().waiterNotifier().size()).isZero();
        theirs.acquire(REQUEST);
        FakeTicker ticker = new FakeTicker();
        Future<?> refused = threads.submit(() -> Deadline.uninterruptibly(
                ticker, ofHours(1), deadline -> engine.acquirer().acquire(REQUEST, GrantStep.NONE, deadline)));
        soon().until(() -> {
            ticker.advance(ofMillis(5));
            return engine.access().waiterNotifier().size() == 1;
        });
        ticker.advance(ofHours(1));
        soon().until(refused::isDone);
        assertThat(engine.access().waiterNotifier().size()).isZero();
        end(engine);
    }

    private static void end(LockEngine engine) {
        engine.monitor().close();
        engine.context().listeners().close();
    }

    // Making way

    /** Without that, the lock is free for a moment only, and the thread that releases it is the next to acquire it. */
    @Test
    void aThreadThatAcquiresTheLockAgainAndAgainMakesWayForOthers() throws Exception {
        LockService mine = services.open();
        listen(theirs, mine);
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicLong grants = new AtomicLong();
        Future<Void> looping = threads.submit(() -> {
            while (!isOver.get()) {
                try (LockHandle held = theirs.acquire(REQUEST)) {
                    grants.incrementAndGet();
                    LockSupport.parkNanos(ofMillis(20).toNanos());
                    held.ensureValidFor(ofSeconds(1));
                }
            }
            return null;
        });
        try {
            for (int round = 0; round < 5; round++) {
                Future<LockHandle> waiting = acquiring(mine, REQUEST);
                // Whoever looks first waits without having said so.
                soon().until(() -> waiterRows() == 1 || waiting.isDone());
                long before = grants.get();
                get(waiting).close();
                assertThat(grants.get() - before).as("grants before its turn").isLessThan(80);
            }
        } finally {
            isOver.set(true);
            get(looping);
        }
    }

    /** The run of a service is shorter if several others wait. It knows that although none of its own threads has waited meanwhile. */
    @Test
    void theShareOfARunOutlastsTheQueueOfTheService() throws Exception {
        FakeTicker ticker = new FakeTicker();
        LockEngine engine = engineOver(database.dataSource(), ticker);
        LockService one = services.open();
        LockService two = services.open();
        letListen(engine, ticker);
        LockHandle first = get(acquiring(engine, REQUEST));
        HandOffThread second = HandOffThread.start(() -> engine.acquireUninterruptibly(REQUEST));
        Future<LockHandle> waiting = acquiring(one, REQUEST);
        Future<LockHandle> alsoWaiting = acquiring(two, REQUEST);
        soon().until(() -> waiterRows() == 2);
        ticker.advance(ofMillis(124));
        first.release();
        LockHandle next = second.lock();
        assertThat(next.fencingToken()).as("nobody has counted the others").isEqualTo(first.fencingToken() + 1);
        HandOffThread third = HandOffThread.start(() -> engine.acquireUninterruptibly(REQUEST));
        ticker.advance(ofMillis(126));
        next.release();
        beforeALeaseEnds().until(() -> waiting.isDone() || alsoWaiting.isDone());
        get(waiting.isDone() ? waiting : alsoWaiting).close();
        get(waiting).close();
        get(alsoWaiting).close();
        ticker.advance(ofMillis(25));
        LockHandle again = third.lock();
        soon().until(() -> waiterRows() == 0);
        Future<LockHandle> waitingAgain = acquiring(one, REQUEST);
        Future<LockHandle> alsoWaitingAgain = acquiring(two, REQUEST);
        soon().until(() -> waiterRows() == 2);
        HandOffThread last = HandOffThread.start(() -> engine.acquireUninterruptibly(REQUEST));
        ticker.advance(ofMillis(125));
        again.release();
        beforeALeaseEnds().until(() -> waitingAgain.isDone() || alsoWaitingAgain.isDone());
        get(waitingAgain.isDone() ? waitingAgain : alsoWaitingAgain).close();
        get(waitingAgain).close();
        get(alsoWaitingAgain).close();
        ticker.advance(ofMillis(25));
        last.lock().close();
        end(engine);
    }

    /** The node of an engine whose ticker stands still sends no heartbeats. When its lease is over, others take its locks. */
    private static ConditionFactory beforeALeaseEnds() {
        return soon().atMost(ofSeconds(20));
    }

    private long waiterRows() {
        return database.queryForLong("select count(*) from lock_waiter");
    }

    /** Lets the engine wait for a moment, so that it listens from then on. */
    private void letListen(LockEngine engine, FakeTicker ticker) throws Exception {
        LockRequest request = LockRequest.of("listening");
        LockHandle held = theirs.acquire(request);
        Future<LockHandle> waiting = acquiring(engine, request);
        soon().until(() -> {
            ticker.advance(ofMillis(5));
            return engine.access().waiterNotifier().isListening();
        });
        held.release();
        soon().until(() -> {
            ticker.advance(ofMillis(5));
            return waiting.isDone();
        });
        get(waiting).close();
    }

    private Future<LockHandle> acquiring(LockEngine engine, LockRequest request) {
        return threads.submit(() -> engine.acquire(request));
    }

    /** Lets the first service wait for the second, so that it listens from then on. */
    private void listen(LockService service, LockService other) throws Exception {
        LockHandle held = other.acquire(LockRequest.of("listening"));
        Future<LockHandle> waiting =
                acquiring(service, LockRequest.of("listening").waitAtMost(SOON));
        soon().until(() -> database.queryForLong("select count(*) from lock_node where bell is not null") >= 1);
        held.release();
        get(waiting).close();
    }

    // What nobody notifies of

    @Test
    void whatIsFreeWithoutAReleaseIsFoundByLooking() throws Exception {
        LockService mine = services.open();
        LockService unaware = services.build(LockServiceBuilder::withoutWakeUp);
        LockService closed = services.open();
        List<LockRequest> requests = new ArrayList<>();
        for (String name : List.of("unaware", "closed", "forced", "expired")) {
            requests.add(LockRequest.of(name).waitAtMost(SOON));
        }
        LockHandle held = unaware.acquire(requests.get(0));
        closed.acquire(requests.get(1));
        theirs.acquire(requests.get(2).lease(ofSeconds(3)));
        theirs.acquire(requests.get(3).lease(ofSeconds(2)));
        List<Future<LockHandle>> waiting =
                requests.stream().map(request -> acquiring(mine, request)).toList();
        soon().until(() -> marked() == 1);
        held.release();
        closed.close();
        theirs.admin().forceRelease("forced", "to see who finds it");
        for (Future<LockHandle> acquired : waiting) {
            get(acquired).close();
        }
    }

    /** A busy service may not know yet that another one waits, so its releases wake none of its threads. */
    @Test
    void aReleaseThatDoesNotAskIsFoundByPollingWhileTheMarkIsNew() throws Exception {
        FakeTicker ticker = new FakeTicker();
        LockEngine engine = engineOver(database.dataSource(), ticker);
        letListen(engine, ticker);
        // The mark of that wait is over.
        ticker.advance(ofSeconds(10));
        theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(engine, REQUEST);
        soon().until(() -> ticker.sleeping() == 1);
        ticker.advance(ofMillis(50));
        soon().until(() -> waiterRows() == 1);
        // After that, the thread has looked once more, and relies on the poller.
        passWhileAsleep(ticker, waiting, ofMillis(100));
        LockRows rows = engine.access().autocommit(SOON);
        LockEntity held = rows.read(NAME).orElseThrow().row();
        assertThat(rows.release(held, held.withHoldCount(0))).isTrue();
        Duration passed = Duration.ZERO;
        while (!waiting.isDone() && passed.compareTo(ofMillis(800)) < 0) {
            passed = passed.plus(passWhileAsleep(ticker, waiting, ofMillis(5)));
        }
        get(waiting).close();
        end(engine);
    }

    /** Lets time pass only while the waiting thread and the poller sleep, so that neither is late on a busy machine. */
    private static Duration passWhileAsleep(FakeTicker ticker, Future<?> waiting, Duration time) {
        Duration passed = Duration.ZERO;
        for (Duration step = ofMillis(5); passed.compareTo(time) < 0; passed = passed.plus(step)) {
            soon().until(() -> ticker.sleeping() >= 2 || waiting.isDone());
            ticker.advance(step);
        }
        return passed;
    }

    // What it costs

    @Test
    void whoWaitsForSecondsLooksFarLessOften() throws Exception {
        CountingDataSource notified = new CountingDataSource(database.dataSource());
        CountingDataSource polling = new CountingDataSource(database.dataSource());
        LockService mine = services.build(services.patientPoolOver(notified), builder -> builder);
        LockService other = services.build(services.patientPoolOver(polling), LockServiceBuilder::withoutWakeUp);
        awaitListening(mine);
        LockHandle held = theirs.acquire(REQUEST);
        LockRequest leased = REQUEST.lease(ofSeconds(60));
        Future<LockHandle> one = acquiring(mine, leased);
        Future<LockHandle> two = acquiring(other, leased);
        soon().until(() -> waiterRows() == 2);
        // However slow the machine is, whoever polls has looked so often before this ends.
        notified.reset();
        polling.reset();
        long start = System.nanoTime();
        soon().until(() -> polling.statements() >= 60
                && System.nanoTime() - start > ofSeconds(3).toNanos());
        int woken = notified.statements();
        long seconds = Duration.ofNanos(System.nanoTime() - start).toSeconds() + 1;
        System.out.printf("A wait of %d s: %d statements, by polling %d%n", seconds, woken, polling.statements());
        // A look each second, what keeps the place, and what listens.
        assertThat((long) woken).isLessThan(6 * seconds);
        held.release();
        soon().until(() -> one.isDone() || two.isDone());
        get(one.isDone() ? one : two).close();
        get(one).close();
        get(two).close();
    }

    @Test
    void whatADeadNodeLeftButMayNotBeGrantedYetIsNotLookedAtAllTheTime() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService mine = services.build(services.patientPoolOver(counting), builder -> builder);
        theirs.acquire(REQUEST.minimumHold(ofSeconds(3)));
        database.execute("update lock_node set ended = true, expires_at = started_at, version = version + 1");
        counting.reset();
        get(acquiring(mine, REQUEST)).close();
        // At the most one look in half of the shortest pause, and the rest.
        assertThat(counting.statements()).isBetween(5, 150);
    }

    private void awaitListening(LockService mine) throws Exception {
        LockRequest request = LockRequest.of("to wait for");
        LockHandle held = theirs.acquire(request);
        Future<LockHandle> waiting = acquiring(mine, request.waitForever());
        soon().until(() -> database.queryForLong("select count(*) from lock_node where bell is not null") == 1);
        held.release();
        get(waiting).close();
    }

    /** A service listens once one of its threads has waited for long. */
    private void awaitListening(LockEngine engine) throws Exception {
        LockHandle held = theirs.acquire(LockRequest.of("to wait for"));
        soon().until(() -> {
            AcquireResult unused = Deadline.uninterruptibly(
                    Ticker.SYSTEM,
                    ofMillis(100),
                    deadline -> engine.acquirer().acquire(LockRequest.of("to wait for"), GrantStep.NONE, deadline));
            return engine.access().waiterNotifier().isListening();
        });
        held.release();
        // Removed in the background, and a second later if the database is away then.
        soon().until(() -> waiterRows() == 0);
    }

    @Test
    void shortWaitsMarkNothingAndReleasesWithoutWaitersNotifyNobody() throws Exception {
        LockService mine = services.open();
        for (int round = 0; round < 10; round++) {
            LockHandle held = theirs.acquire(REQUEST);
            assertThat(mine.tryAcquire(LockRequest.of(NAME))).isEmpty();
            assertThatThrownBy(() -> mine.acquire(REQUEST.waitAtMost(ofMillis(20))))
                    .isInstanceOf(LockNotAcquiredException.class);
            held.release();
            mine.acquire(REQUEST).close();
        }
        assertThat(sent.soFar()).isZero();
        assertThat(database.queryForLong("select count(*) from lock_node where waits_until is not null"))
                .isZero();
    }

    @Test
    void aMarkEndsSoonAfterTheWait() throws Exception {
        LockService mine = sleeper();
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        assertThat(marked()).isEqualTo(1);
        held.release();
        get(waiting).close();
        assertThat(sent.soFar()).isEqualTo(1);
        soon().until(() -> marked() == 0);
        theirs.acquire(REQUEST).close();
        assertThat(sent.soFar()).isZero();
    }

    @Test
    void aDeadNodesMarkEndsByItself() throws Exception {
        LockHandle held = theirs.acquire(LockRequest.of("dead"));
        try (JavaProcess worker = NodeWorker.start(database, ofSeconds(30))) {
            worker.send("hold dead");
            soon().until(() -> marked() == 1);
            worker.kill();
        }
        soon().until(() -> marked() == 0);
        held.release();
        assertThat(sent.soFar()).isZero();
        database.execute("update lock_node set ended = true");
        var unused = theirs.admin().housekeep();
        assertThat(database.queryForLong("select count(*) from lock_waiter")).isZero();
    }

    @Test
    void whoLeavesAfterItWasWokenWakesTheNext() throws Exception {
        EndlessPauses pauses = new EndlessPauses();
        LockEngine engine = engineOver(database.dataSource(), pauses);
        LockHandle held = theirs.acquire(REQUEST);
        WaiterNotifier notifier = engine.access().waiterNotifier();
        awaitListening(engine);
        Waiter first = notifier.waiter(notifier.place(NAME, WaitMode.EXCLUSIVE));
        Instant seen = engine.access().autocommit(SOON).read(NAME).orElseThrow().dbNow();
        announce(notifier, first, seen, pauses);
        Future<LockHandle> second = acquiring(sleeper(), REQUEST);
        awaitPausing(1);
        held.release();
        soon().until(first::isWakeUpUnused);
        assertThat(second).isNotDone();
        first.close();
        get(second).close();
        end(engine);
    }

    @Test
    void aTicketThatNobodyHasIsRemovedAndTheNextIsWoken() throws Exception {
        EndlessPauses pauses = new EndlessPauses();
        LockEngine engine = engineOver(database.dataSource(), pauses);
        LockHandle held = theirs.acquire(REQUEST);
        LockHandle other = theirs.acquire(LockRequest.of("other"));
        WaiterNotifier notifier = engine.access().waiterNotifier();
        awaitListening(engine);
        Waiter waiting = notifier.waiter(notifier.place("other", WaitMode.EXCLUSIVE));
        Instant seen =
                engine.access().autocommit(SOON).read("other").orElseThrow().dbNow();
        announce(notifier, waiting, seen, pauses);
        database.execute("insert into lock_waiter (name, since, id, node_id, mode, permits, fair)" + " select '" + NAME
                + "', 1, 'late', node_id, mode, permits, fair from lock_waiter");
        Future<LockHandle> second = acquiring(sleeper(), REQUEST);
        awaitPausing(1);
        held.release();
        get(second).close();
        assertThat(database.queryForLong("select count(*) from lock_waiter where id = 'late'"))
                .isZero();
        waiting.close();
        other.release();
        end(engine);
    }

    @Test
    void aFairWaiterThatLeavesWakesTheNextAlthoughNobodyHasWokenIt() throws Exception {
        EndlessPauses pauses = new EndlessPauses();
        LockEngine engine = engineOver(database.dataSource(), pauses);
        theirs.acquire(REQUEST).close();
        WaiterNotifier notifier = engine.access().waiterNotifier();
        awaitListening(engine);
        Waiter first = notifier.waiter(notifier.fairPlace(NAME));
        Instant seen = engine.access().autocommit(SOON).read(NAME).orElseThrow().dbNow();
        announce(notifier, first, seen, pauses);
        Future<LockHandle> second = acquiring(sleeper(), REQUEST.fair());
        awaitPausing(1);
        assertThat(second).isNotDone();
        first.close();
        get(second).close();
        end(engine);
    }

    @Test
    void aFairTicketThatNobodyHasDoesNotHoldUpTheQueueOfAFreeLock() throws Exception {
        LockHandle other = theirs.acquire(LockRequest.of("other"));
        theirs.acquire(REQUEST).close();
        Future<LockHandle> elsewhere =
                acquiring(sleeper(), LockRequest.of("other").waitAtMost(SOON));
        awaitPausing(1);
        // Its insert has arrived long after its waiter had given up, and nobody there wants this lock now.
        database.execute("insert into lock_waiter (name, since, id, node_id, mode, permits, fair) select '" + NAME
                + "', 1, concat(substring(id, 1, 37), '4711'), node_id, mode, permits, true from lock_waiter");
        LockService mine = services.build(LockServiceBuilder::withoutHousekeeping);
        get(acquiring(mine, REQUEST.fair())).close();
        other.release();
        get(elsewhere).close();
    }

    // The connection that listens

    @Test
    void whenItsConnectionBreaksItPollsAndListensAgain() throws Exception {
        HikariDataSource pool = database.pool(config -> config.setMaximumPoolSize(4));
        try (CapturedLog log = CapturedLog.of(NotificationListener.class)) {
            LockService mine = sleeper(pool);
            LockHandle held = theirs.acquire(REQUEST);
            Future<LockHandle> waiting = acquiring(mine, REQUEST);
            awaitPausing(1);
            // As often as it comes back, until the lock was found without it.
            CompletableFuture<Void> killing = CompletableFuture.runAsync(
                    () -> {
                        while (!waiting.isDone()) {
                            sent.killListeners();
                        }
                    },
                    threads);
            awaitPausing(0);
            held.release();
            get(waiting).close();
            killing.get(SOON.toSeconds(), TimeUnit.SECONDS);
            assertThat(log.lines()).isNotEmpty();

            soon().until(() -> isWokenBy(mine));
            // It removes the rows of its waiters, and needs its pool for that.
            mine.close();
        } finally {
            pool.close();
        }
    }

    @Test
    void whileNothingIsHeardNobodyRelies() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockEngine engine = engineOver(faults, endlessPauses());
        awaitListening(engine);
        faults.down();
        soon().until(() -> !engine.access().waiterNotifier().isListening());
        faults.up();
        soon().until(engine.access().waiterNotifier()::isListening);
    }

    @Test
    void aWaiterIsGrantedItsLockIfNoThreadCanBeStarted() throws Exception {
        LockEngine engine = engineOver(database.dataSource(), Ticker.SYSTEM, new WaiterThread(task -> {
            throw new OutOfMemoryError("The test has no thread left");
        }));
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = threads.submit(() -> engine.acquire(REQUEST));
        soon().until(() -> waiterRows() == 1);
        held.release();
        LockHandle granted = get(waiting);
        assertThat(waiterRows()).isZero();
        assertThat(granted.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    private LockEngine engineOver(DataSource connections, Ticker ticker) {
        return engineOver(connections, ticker, new WaiterThread("holdfast-waiters"));
    }

    private LockEngine engineOver(DataSource connections, Ticker ticker, WaiterThread waiterThread) {
        EntityManagerFactory unit = services.unit(services.patientPoolOver(connections));
        ServiceSettings settings = FakeTicker.settings(WHERE_POSSIBLE, ticker);
        LockStore store = LockStore.open(unit).cancellingOverdue(ticker::nanoTime);
        LockEngine engine = new LockEngine(() -> new EngineComponents(
                store,
                CommitGuard.of(unit, null),
                settings,
                new ProcessIdentity(""),
                null,
                store.wakeUpChannel(waiterThread::hint).orElse(null),
                waiterThread));
        services.opened(engine.access().inDoubtWrites());
        services.opened(engine.access().waiterNotifier());
        services.opened(engine.context().heartbeat());
        return engine;
    }

    /** Whether a thread that waits falls asleep until it is woken: as long as nothing is heard, none does. */
    private boolean isWokenBy(LockService mine) throws Exception {
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        boolean hasSlept = false;
        try {
            soon().atMost(ofSeconds(2)).until(() -> pausing() == 1);
            hasSlept = true;
        } catch (ConditionTimeoutException stillPolling) {
            // Looked at once more.
        }
        held.release();
        get(waiting).close();
        return hasSlept;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void noConnectionThatListenedIsInThePoolAfterwards(boolean autoCommit) throws Exception {
        HikariDataSource application = database.pool(config -> {});
        HikariDataSource own = database.pool(config -> {
            config.setAutoCommit(autoCommit);
            config.setMaximumPoolSize(3);
        });
        WatchedDataSource watched = new WatchedDataSource(own);
        LockService mine = services.build(application, builder -> builder.lockDataSource(watched));
        assertThat(watched.inUse()).as("before anybody waits").isZero();
        LockHandle held = theirs.acquire(REQUEST);
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        soon().until(() -> database.queryForLong("select count(*) from lock_node where bell is not null") == 1);
        held.release();
        get(waiting).close();
        soon().until(() -> watched.inUse() == 1);
        assertThat(application.getHikariPoolMXBean().getActiveConnections())
                .as("of the application's")
                .isZero();
        long closing = System.nanoTime();
        mine.close();
        int left = watched.inUse();
        // On a loaded machine, the thread that listens may end a little later.
        if (System.nanoTime() - closing < CLOSE_LIMIT.toNanos()) {
            assertThat(left).isZero();
        }
        soon().until(() -> watched.inUse() == 0 && own.getHikariPoolMXBean().getActiveConnections() == 0);
        if (database.kind() == TestDatabase.POSTGRESQL) {
            // There it is given back, and not closed.
            assertThat(watched.changed()).isZero();
        }
        List<Connection> all = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Connection connection = own.getConnection();
            all.add(connection);
            assertThat(sent.listens(connection)).isFalse();
        }
        for (Connection connection : all) {
            connection.close();
        }
        own.close();
        application.close();
    }

    @Test
    void theThreadBeginsWithTheFirstLongWaitAndEndsWithTheService() throws Exception {
        LockService mine = sleeper();
        LockHandle held = theirs.acquire(REQUEST);
        mine.acquire(LockRequest.of("free")).close();
        assertThat(receivers()).isZero();
        Future<LockHandle> waiting = acquiring(mine, REQUEST);
        awaitPausing(1);
        assertThat(receivers()).isEqualTo(1);
        held.release();
        get(waiting).close();
        mine.close();
        soon().until(() -> receivers() == 0);
    }

    private static long receivers() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("holdfast-wake-up"))
                .count();
    }
}
