package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Many threads of one process that want the same name, one thread that wants many names, and locks as views. */
@OnEachDatabase
@SuppressWarnings("LockNotBeforeTry") // What a lock and its unlock do is looked at step by step.
class WaitingTest {

    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest HOT = LockRequest.of("hot").waitAtMost(SOON);

    /** No statement may take longer than this if its caller does not wait for long. */
    private static final Duration SHORTEST_STATEMENT = ofSeconds(1);

    private Database database;
    private Services services;
    private HikariDataSource pool;
    private LockService mine;
    private LockService theirs;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        services = Services.on(database);
        Services.emptyTables(database);
        pool = database.pool(config -> {});
        mine = services.build(pool, this::settings);
        theirs = services.build(this::settings);
    }

    /** What else the services are built with. */
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder;
    }

    @AfterEach
    void close() throws Exception {
        services.close();
        pool.close();
    }

    // The queue

    /** As a test suite does that empties a table. Without its row, a lock is free. */
    @Test
    void aWaiterIsGrantedALockWhoseRowWasDeletedThoughTheHolderHasNothingToRelease() throws Exception {
        LockRequest request = LockRequest.of("without a row");
        LockHandle held = mine.acquire(request);
        // Less than a waiter rests that is woken by releases.
        FutureTask<LockHandle> waiting = new FutureTask<>(() -> theirs.acquire(request.waitAtMost(ofSeconds(40))));
        Thread waiter = new Thread(waiting);
        waiter.start();
        await().atMost(SOON).until(() -> theirs.admin().waiting() == 1);
        await().atMost(SOON).until(() -> database.queryForLong("select count(*) from lock_waiter") == 1);
        database.execute("delete from distributed_lock");
        waiter.join();
        assertThat(waiting.get().fencingToken()).isGreaterThan(held.fencingToken());
        assertThat(held.release()).isEqualTo(ReleaseOutcome.LOST);
        waiting.get().close();
    }

    @Test
    void eightThreadsGetTheirTurnsEqually() throws Exception {
        int threads = 8;
        AtomicLong turns = new AtomicLong();
        List<Queue<Long>> waits = IntStream.range(0, threads)
                .<Queue<Long>>mapToObj(number -> new ConcurrentLinkedQueue<>())
                .toList();
        AtomicInteger inside = new AtomicInteger();
        CountDownLatch start = new CountDownLatch(1);
        long[] end = new long[1];
        ExecutorService workers = Executors.newFixedThreadPool(threads);
        List<Future<?>> done = new ArrayList<>();
        for (Queue<Long> wait : waits) {
            done.add(workers.submit(() -> {
                start.await();
                while (System.nanoTime() - end[0] < 0 || fewest(waits) < 20) {
                    long asked = turns.get();
                    try (LockHandle lock = mine.acquire(HOT)) {
                        assertThat(inside.incrementAndGet()).isEqualTo(1);
                        wait.add(turns.getAndIncrement() - asked);
                        inside.decrementAndGet();
                    }
                }
                return null;
            }));
        }
        end[0] = System.nanoTime() + ofSeconds(3).toNanos();
        start.countDown();
        for (Future<?> worker : done) {
            worker.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
        workers.shutdown();
        // A thread that the machine lets stand still before it asks misses turns. So not each wait is looked at, nor
        // their sum.
        List<Long> medians = waits.stream().map(WaitingTest::median).toList();
        assertThat(medians).as("turns of others in a wait").allMatch(median -> median <= 1.5 * (threads - 1));
    }

    private static int fewest(List<Queue<Long>> waits) {
        return waits.stream().mapToInt(Queue::size).min().orElseThrow();
    }

    private static long median(Queue<Long> waits) {
        List<Long> sorted = waits.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
    }

    @Test
    void noneOfSeveralLocksHasExpiredDuringTheWaitForTheNext() throws Exception {
        LockHandle inTheWay = theirs.acquire(LockRequest.of("b"));
        List<LockRequest> requests = List.of(
                LockRequest.of("a").lease(ofSeconds(1)).waitAtMost(SOON),
                LockRequest.of("b").waitAtMost(SOON));
        FutureTask<LockHandles> all = new FutureTask<>(() -> mine.acquireAll(requests));
        new Thread(all).start();
        await().atMost(SOON)
                .until(() -> mine.admin().waiters().stream()
                        .anyMatch(waiter -> waiter.name().equals("b")));
        await().atMost(SOON).until(() -> theirs.find("a").isEmpty());
        inTheWay.release();
        assertThatThrownBy(() -> all.get(60, TimeUnit.SECONDS)).hasCauseInstanceOf(LockLostException.class);
        assertThat(theirs.find("b")).isEmpty();
    }

    @Test
    void threadsAreServedInTheOrderOfTheirComing() throws Exception {
        List<Integer> served = Collections.synchronizedList(new ArrayList<>());
        List<Future<?>> waiting = new ArrayList<>();
        ExecutorService workers = Executors.newCachedThreadPool();
        LockHandle held = mine.acquire(HOT);
        for (int i = 0; i < 6; i++) {
            int number = i;
            waiting.add(workers.submit(() -> {
                try (LockHandle lock = mine.acquire(HOT)) {
                    served.add(number);
                }
                return null;
            }));
            await().atMost(SOON).until(() -> mine.admin().waiting() == number + 1);
        }
        held.release();
        for (Future<?> worker : waiting) {
            worker.get(SOON.toSeconds(), TimeUnit.SECONDS);
        }
        workers.shutdown();
        assertThat(served).containsExactly(0, 1, 2, 3, 4, 5);
    }

    @Test
    void oneServiceWithABusyQueueDoesNotKeepAnotherOut() throws Exception {
        ExecutorService workers = Executors.newFixedThreadPool(4);
        CountDownLatch ended = new CountDownLatch(1);
        for (int i = 0; i < 4; i++) {
            var unused = workers.submit(() -> {
                while (ended.getCount() > 0) {
                    mine.acquire(HOT).close();
                }
                return null;
            });
        }
        for (int round = 0; round < 3; round++) {
            theirs.acquire(HOT).close();
        }
        ended.countDown();
        workers.shutdown();
        assertThat(workers.awaitTermination(60, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void interruptsAndTimeoutsAtAnyMomentLeaveNothingBehind() throws Exception {
        int threads = 4;
        int rounds = 2500;
        long latest = System.nanoTime() + SOON.toNanos();
        Queue<Thread> interruptible = new ConcurrentLinkedQueue<>();
        Map<Outcome, Integer> outcomes = new ConcurrentHashMap<>();
        AtomicLong slowest = new AtomicLong();
        ExecutorService workers = Executors.newFixedThreadPool(threads);
        List<Future<?>> done = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            done.add(workers.submit(() -> {
                interruptible.add(Thread.currentThread());
                for (int round = 0;
                        round < rounds || (!areCommon(outcomes) && System.nanoTime() - latest < 0);
                        round++) {
                    long start = System.nanoTime();
                    outcomes.merge(acquireOneOfTwo(), 1, Integer::sum);
                    slowest.accumulateAndGet(System.nanoTime() - start, Math::max);
                }
                return interruptible.remove(Thread.currentThread());
            }));
        }
        while (!done.stream().allMatch(Future::isDone)) {
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(1_000_000));
            interruptible.stream()
                    .skip(ThreadLocalRandom.current().nextInt(threads))
                    .findFirst()
                    .ifPresent(Thread::interrupt);
        }
        for (Future<?> worker : done) {
            worker.get();
        }
        workers.shutdown();
        assertThat(areCommon(outcomes)).as(outcomes.toString()).isTrue();
        if (outcomes.containsKey(Outcome.BUSY)) {
            assertThat(Duration.ofNanos(slowest.get())).as("the slowest call").isGreaterThan(SHORTEST_STATEMENT);
            assertThat(outcomes.get(Outcome.BUSY)).as(outcomes.toString()).isLessThan(outcomes.get(Outcome.ACQUIRED));
        }
        assertThat(mine.admin().waiting()).isZero();
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(theirs.admin().held("", 10)).isEmpty());
        for (String name : ONE_OF_TWO) {
            assertThat(theirs.tryAcquire(LockRequest.of(name))).hasValueSatisfying(LockHandle::close);
            // Behind a place that was left in the queue, nobody's turn would come.
            mine.acquire(LockRequest.of(name).waitAtMost(SOON)).close();
        }
        mine.close();
        await().atMost(SOON).until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
    }

    private static final List<String> ONE_OF_TWO = List.of("random 0", "random 1");

    enum Outcome {
        ACQUIRED,
        NOT_ACQUIRED,
        INTERRUPTED,

        /** The last attempt, or that of the thread in front, waited too long for the database. Only a loaded machine has this. */
        BUSY
    }

    /** Whether there were enough of each outcome that does not need a loaded machine. */
    private static boolean areCommon(Map<Outcome, Integer> outcomes) {
        return Stream.of(Outcome.ACQUIRED, Outcome.NOT_ACQUIRED, Outcome.INTERRUPTED)
                .allMatch(outcome -> outcomes.getOrDefault(outcome, 0) > 100);
    }

    private Outcome acquireOneOfTwo() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        LockRequest request = LockRequest.of(ONE_OF_TWO.get(random.nextInt(2))).waitAtMost(ofMillis(random.nextInt(6)));
        try (LockHandle lock = mine.acquire(request)) {
            assertThat(lock.state()).isEqualTo(LockState.HELD);
            return Outcome.ACQUIRED;
        } catch (LockNotAcquiredException contention) {
            return Outcome.NOT_ACQUIRED;
        } catch (InterruptedException interrupted) {
            return Outcome.INTERRUPTED;
        } catch (LockStoreException failed) {
            return outcome(failed);
        }
    }

    /** What a failure of the database means that is well. */
    private Outcome outcome(LockStoreException failed) {
        if (database.kind() == TestDatabase.H2_MEMORY) {
            // In the application's own process, H2 takes an interrupt for a lock timeout, and nobody sees it any more.
            assertThat(failed).hasStackTraceContaining("JdbcSQLTimeoutException");
            return Outcome.INTERRUPTED;
        }
        FairTest.assertBusy(failed);
        return Outcome.BUSY;
    }

    // Views

    @Test
    void aViewIsReentrantByThreadAndExcludesOthers() throws Exception {
        Lock view = mine.asLock("view");
        view.lock();
        assertThat(view.tryLock()).isTrue();
        assertThat(theirs.asLock("view").tryLock(10, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(inAnotherThread(() -> mine.asLock("view").tryLock())).isFalse();
        mine.asLock("view").unlock();
        assertThat(theirs.asLock("view").tryLock()).isFalse();
        view.unlock();
        assertThat(theirs.asLock("view").tryLock()).isTrue();
        assertThat(view.tryLock(10, TimeUnit.MILLISECONDS)).isFalse();
        theirs.asLock("view").unlock();
    }

    @Test
    void aViewIsUnlockedOnlyByTheThreadThatLockedIt() throws Exception {
        Lock view = mine.asLock("view");
        assertThatThrownBy(view::unlock).isInstanceOf(IllegalMonitorStateException.class);
        view.lockInterruptibly();
        assertThat(inAnotherThread(() -> {
                    assertThatThrownBy(view::unlock).isInstanceOf(IllegalMonitorStateException.class);
                    return true;
                }))
                .isTrue();
        view.unlock();
        assertThatThrownBy(view::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(view::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }

    @Test
    void lockPutsAnInterruptAsideAndLockInterruptiblyDoesNot() throws Exception {
        Lock view = mine.asLock("view");
        Thread.currentThread().interrupt();
        view.lock();
        assertThat(Thread.interrupted()).isTrue();
        view.unlock();
        Thread.currentThread().interrupt();
        assertThatThrownBy(view::lockInterruptibly).isInstanceOf(InterruptedException.class);
        assertThat(theirs.find("view")).isEmpty();
    }

    @Test
    void lockWaitsThroughAnInterrupt() throws Exception {
        LockHandle held = theirs.acquire(LockRequest.of("view"));
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Thread waiter = new Thread(() -> {
            mine.asLock("view").lock();
            interrupted.complete(Thread.currentThread().isInterrupted());
            mine.asLock("view").unlock();
        });
        waiter.start();
        await().atMost(SOON).until(() -> mine.admin().waiting() == 1);
        waiter.interrupt();
        await().during(ofMillis(200)).atMost(SOON).until(() -> !interrupted.isDone());
        held.release();
        assertThat(interrupted.get(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        waiter.join();
    }

    private static <T> T inAnotherThread(java.util.concurrent.Callable<T> work) throws Exception {
        ExecutorService other = Executors.newSingleThreadExecutor();
        try {
            return other.submit(work).get(60, TimeUnit.SECONDS);
        } finally {
            other.shutdown();
        }
    }

    // Several names

    @Test
    void severalNamesAreAcquiredTogetherOrNotAtAll() throws Exception {
        List<LockRequest> requests = List.of(LockRequest.of("c"), LockRequest.of("a"), LockRequest.of("b"));
        try (LockHandles all = mine.acquireAll(requests)) {
            assertThat(all.handles()).extracting(LockHandle::name).containsExactly("a", "b", "c");
            assertThat(all.handle("b")).map(LockHandle::state).contains(LockState.HELD);
            assertThat(all.handle("d")).isEmpty();
            assertThat(all.remaining()).isPositive();
            all.ensureValidFor(ofSeconds(1));
        }
        LockHandle inTheWay = theirs.acquire(LockRequest.of("b"));
        long start = System.nanoTime();
        assertThatExceptionOfType(LockNotAcquiredException.class)
                .isThrownBy(() -> mine.acquireAll(requests.stream()
                        .map(request -> request.waitAtMost(ofMillis(300)))
                        .toList()))
                .satisfies(refused -> assertThat(refused.lockName()).contains("b"));
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isBetween(ofMillis(300), ofSeconds(30));
        assertThat(theirs.admin().held("", 10)).extracting(LockInfo::name).containsExactly("b");
        inTheWay.release();
    }

    @Test
    void callersThatNameTheSameLocksInDifferentOrdersDoNotBlockEachOther() throws Exception {
        List<LockRequest> requests = new ArrayList<>();
        for (String name : List.of("a", "b", "c", "d")) {
            requests.add(LockRequest.of(name).waitAtMost(SOON));
        }
        ExecutorService workers = Executors.newFixedThreadPool(4);
        List<Future<?>> done = new ArrayList<>();
        for (LockService service : List.of(mine, mine, theirs, theirs)) {
            List<LockRequest> mixed = new ArrayList<>(requests);
            done.add(workers.submit(() -> {
                for (int round = 0; round < 15; round++) {
                    Collections.shuffle(mixed);
                    service.acquireAll(mixed.subList(0, 3)).close();
                }
                return null;
            }));
        }
        for (Future<?> worker : done) {
            worker.get(60, TimeUnit.SECONDS);
        }
        workers.shutdown();
        assertThat(theirs.admin().held("", 10)).isEmpty();
    }

    @Test
    void noNamesOrTheSameTwiceAreRefused() {
        assertThatIllegalArgumentException().isThrownBy(() -> mine.acquireAll(List.of()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> mine.acquireAll(List.of(LockRequest.of("a"), LockRequest.of("a"))))
                .withMessageContaining("'a'");
    }
}
