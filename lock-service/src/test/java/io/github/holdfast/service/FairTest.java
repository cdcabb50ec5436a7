package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link LockRequest#fair()}: the order of arrival over services and threads, and who is passed over. */
@OnEachDatabase
class FairTest {

    private static final Duration SOON = ofSeconds(30);
    private static final String NAME = "fair";
    private static final LockRequest REQUEST = LockRequest.of(NAME).fair().waitAtMost(ofMinutes(5));
    private static final LockRequest UNFAIR = LockRequest.of(NAME).waitAtMost(ofMinutes(5));

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Database database;
    private Services services;
    private LockService one;
    private LockService other;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        services = Services.on(database);
        Services.emptyTables(database);
        one = services.build(builder -> builder.withoutHousekeeping());
        other = services.build(builder -> builder.withoutHousekeeping());
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    private long waiterRows() {
        return database.queryForLong("select count(*) from lock_waiter");
    }

    private void awaitWaiterRows(int count) {
        await().atMost(SOON).untilAsserted(() -> assertThat(waiterRows()).isEqualTo(count));
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    /** Lets one more thread wait, after all others. */
    private <T> Future<T> join(int place, java.util.concurrent.Callable<T> work) {
        Future<T> waiting = threads.submit(work);
        awaitWaiterRows(place);
        return waiting;
    }

    @Test
    void theOrderOfArrivalIsThatOfTheGrantsOverAllServicesAndThreads() throws Exception {
        List<Integer> granted = Collections.synchronizedList(new ArrayList<>());
        LockHandle held = one.acquire(REQUEST);
        List<Future<Integer>> waiting = new ArrayList<>();
        int[] of = {1, 1, 0, 1, 0, 0, 1, 0, 1, 1};
        for (int number = 0; number < of.length; number++) {
            int place = number;
            LockService service = of[number] == 0 ? one : other;
            waiting.add(join(number + 1, () -> grantedTo(place, service, granted)));
        }
        held.release();
        for (Future<Integer> waiter : waiting) {
            assertThat(get(waiter)).isEqualTo(1);
        }
        assertThat(granted)
                .containsExactlyElementsOf(IntStream.range(0, of.length).boxed().toList());
        awaitWaiterRows(0);
    }

    @Test
    void theCallsOfOneServiceAreServedInTheirOrderAlsoIfTheDatabaseAnswersTheFirstOnesLast() throws Exception {
        LateAnswer first = new LateAnswer(database.dataSource());
        LateAnswer second = new LateAnswer(first.dataSource());
        LockService service = services.patientlyOpenOver(second.dataSource());
        service.acquire(LockRequest.of("the node")).close();
        List<Integer> granted = Collections.synchronizedList(new ArrayList<>());
        LockHandle held = one.acquire(REQUEST);
        List<Future<Integer>> waiting = new ArrayList<>();
        for (LateAnswer late : List.of(first, second)) {
            int number = waiting.size() + 1;
            waiting.add(threads.submit(() -> {
                late.chooseUnsent();
                return grantedTo(number, service, granted);
            }));
            late.awaitDone();
        }
        for (int places = 1; places <= 2; places++) {
            int number = waiting.size() + 1;
            waiting.add(join(places, () -> grantedTo(number, service, granted)));
        }
        first.answer();
        awaitWaiterRows(3);
        second.answer();
        awaitWaiterRows(4);
        held.release();
        for (Future<Integer> waiter : waiting) {
            assertThat(get(waiter)).isEqualTo(1);
        }
        assertThat(granted).containsExactly(1, 2, 3, 4);
    }

    private static int grantedTo(int number, LockService service, List<Integer> granted) throws Exception {
        try (LockHandle lock = service.acquire(REQUEST)) {
            granted.add(number);
            return lock.holdCount();
        }
    }

    @Test
    void whoComesWhileFairRequestsWaitForAFreeLockWaitsBehindThem() throws Exception {
        one.acquire(REQUEST).close();
        placeOfAnotherNode(ofMinutes(5));
        assertThat(one.tryAcquire(LockRequest.of(NAME).fair())).isEmpty();
        assertThatThrownBy(() -> one.acquire(REQUEST.waitAtMost(ofMillis(200))))
                .isInstanceOf(LockNotAcquiredException.class)
                .hasMessageContaining("fair requests came first");
        Future<LockHandle> waiting = join(2, () -> one.acquire(REQUEST));
        assertThat(waiting).isNotDone();
        database.execute("delete from lock_waiter where node_id = 'another'");
        get(waiting).close();
    }

    @Test
    void requestsThatAreNotFairDoNotCareForTheQueue() throws Exception {
        one.acquire(REQUEST).close();
        placeOfAnotherNode(ofMinutes(5));
        assertThat(one.tryAcquire(LockRequest.of(NAME))).hasValueSatisfying(LockHandle::close);
        other.acquire(UNFAIR).close();
    }

    @Test
    void aNodeThatIsNotHeardOfIsPassedOver() throws Exception {
        one.acquire(REQUEST).close();
        placeOfAnotherNode(ofMinutes(5));
        Future<LockHandle> waiting = join(2, () -> one.acquire(REQUEST));
        database.execute("update lock_node set waits_until = started_at where id = 'another'");
        get(waiting).close();
        assertThat(waiterRows()).as("places that no longer count").isEqualTo(1);
    }

    @Test
    void thePlaceOfOneWhoWaitsForLongStillCounts() throws Exception {
        LockHandle held = one.acquire(REQUEST);
        Future<LockHandle> waiting = join(1, () -> other.acquire(REQUEST));
        // This mark outlasts the first one of the waiter, which lasts for four seconds.
        placeOfAnotherNode(ofSeconds(5));
        await().atMost(SOON)
                .until(() -> database.queryForLong("select count(*) from lock_node mine join lock_node another"
                                + " on another.id = 'another' where mine.waits_until > another.waits_until")
                        == 1);
        database.execute("delete from lock_waiter where node_id = 'another'");
        Future<LockHandle> later = join(2, () -> one.acquire(REQUEST));
        held.release();
        try (LockHandle granted = get(waiting)) {
            assertThat(granted.fencingToken()).isEqualTo(held.fencingToken() + 1);
        }
        get(later).close();
    }

    /** The first place in the queue, of a node that does nothing. */
    private void placeOfAnotherNode(Duration marked) {
        String now = database.kind() == TestDatabase.POSTGRESQL || isH2() ? "current_timestamp" : "utc_timestamp(6)";
        String until = isH2() || database.kind() == TestDatabase.POSTGRESQL
                ? now + " + interval '" + marked.toSeconds() + "' second"
                : now + " + interval " + marked.toSeconds() + " second";
        database.execute(
                "insert into lock_node (id, started_at, expires_at, ended, version, waits_until)"
                        + " values ('another', " + now + ", " + until + ", false, 0, " + until + ")",
                "insert into lock_waiter (name, since, id, node_id, mode, permits, fair) values ('" + NAME
                        + "', 1, 'waiter', 'another', 'X', 1, true)");
    }

    private boolean isH2() {
        return database.kind().name().startsWith("H2");
    }

    /** On a loaded machine, the row can stay locked for longer than an attempt may wait for it. */
    static void assertBusy(LockStoreException busy) {
        assertThat(busy)
                .cause()
                .isInstanceOfSatisfying(
                        StoreException.class,
                        cause -> assertThat(cause.failure()).isEqualTo(StoreException.Failure.BUSY));
    }

    @Test
    void whoGivesUpLetsTheNextOnePass() throws Exception {
        LockHandle held = one.acquire(REQUEST);
        Future<LockHandle> first = join(1, () -> one.acquire(REQUEST.waitAtMost(ofSeconds(12))));
        Future<LockHandle> interrupted = join(2, () -> other.acquire(REQUEST));
        Future<LockHandle> last = join(3, () -> other.acquire(REQUEST));
        assertThatThrownBy(() -> get(first))
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(LockNotAcquiredException.class);
        interrupted.cancel(true);
        awaitWaiterRows(1);
        held.release();
        get(last).close();
        awaitWaiterRows(0);
    }

    @Test
    void aServiceThatIsClosedLosesItsPlaces() throws Exception {
        LockHandle held = one.acquire(REQUEST);
        LockService closed = services.open();
        Future<LockHandle> first = join(1, () -> closed.acquire(REQUEST));
        Future<LockHandle> next = join(2, () -> other.acquire(REQUEST));
        closed.close();
        assertThatThrownBy(() -> get(first)).hasCauseInstanceOf(IllegalStateException.class);
        held.release();
        get(next).close();
    }

    @Test
    void reentryDoesNotWaitForTheQueue() throws Exception {
        LockHandle held = one.acquire(REQUEST);
        Future<LockHandle> waiting = join(1, () -> other.acquire(REQUEST));
        try (LockHandle nested = one.acquire(REQUEST)) {
            assertThat(nested.holdCount()).isEqualTo(2);
        }
        held.release();
        get(waiting).close();
        LockRequest chosen = REQUEST.owner("chosen");
        LockHandle outer = one.acquire(chosen);
        Future<LockHandle> second = join(1, () -> other.acquire(REQUEST));
        try (LockHandle nested = one.acquire(chosen)) {
            assertThat(nested.holdCount()).isEqualTo(2);
        }
        outer.release();
        get(second).close();
    }

    @Test
    void aThreadThatAcquiresTheLockAgainAndAgainMakesWayForAFairOne() throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        Future<?> looping = threads.submit(() -> {
            while (!isOver.get()) {
                one.acquire(UNFAIR).close();
            }
            return null;
        });
        try {
            for (int round = 0; round < 3; round++) {
                get(threads.submit(() -> one.acquire(REQUEST))).close();
                get(threads.submit(() -> other.acquire(REQUEST))).close();
            }
        } finally {
            isOver.set(true);
            get(looping);
        }
    }

    @Test
    void allWhoAreFairGetItInTurn() throws Exception {
        AtomicInteger[] grants = {new AtomicInteger(), new AtomicInteger()};
        AtomicBoolean isOver = new AtomicBoolean();
        List<Future<?>> workers = new ArrayList<>();
        for (int number = 0; number < 6; number++) {
            int service = number % 2;
            workers.add(threads.submit(() -> {
                while (!isOver.get()) {
                    try (LockHandle lock = (service == 0 ? one : other).acquire(REQUEST)) {
                        assertThat(lock.holdCount()).isEqualTo(1);
                        grants[service].incrementAndGet();
                    }
                }
                return null;
            }));
        }
        // The threads do not start together.
        await().atMost(SOON).until(() -> Math.min(grants[0].get(), grants[1].get()) >= 3);
        int difference = grants[0].get() - grants[1].get();
        int before = grants[0].get() + grants[1].get();
        await().atMost(SOON.multipliedBy(4)).until(() -> grants[0].get() + grants[1].get() >= before + 60);
        isOver.set(true);
        for (Future<?> worker : workers) {
            get(worker);
        }
        System.out.printf("%s: fair grants of two services: %s%n", database.kind(), List.of(grants));
        assertThat(Math.abs(grants[0].get() - grants[1].get() - difference)).isLessThanOrEqualTo(20);
        awaitWaiterRows(0);
    }

    @Test
    void aStormOfShortWaitsAndInterruptsLeavesNothingBehind() throws Exception {
        AtomicBoolean isOver = new AtomicBoolean();
        List<Future<?>> workers = new ArrayList<>();
        for (int number = 0; number < 8; number++) {
            LockService service = number % 2 == 0 ? one : other;
            workers.add(threads.submit(() -> {
                while (!isOver.get()) {
                    ThreadLocalRandom random = ThreadLocalRandom.current();
                    if (random.nextInt(4) == 0) {
                        Thread.currentThread().interrupt();
                    }
                    try (LockHandle lock = service.acquire(REQUEST.waitAtMost(ofMillis(random.nextInt(6))))) {
                        assertThat(lock.holdCount()).isEqualTo(1);
                    } catch (LockNotAcquiredException | InterruptedException expected) {
                        assertThat(Thread.interrupted()).isFalse();
                    } catch (LockStoreException busy) {
                        assertBusy(busy);
                    }
                }
                return null;
            }));
        }
        await().during(ofSeconds(3)).atMost(SOON).until(() -> workers.stream().noneMatch(Future::isDone));
        isOver.set(true);
        for (Future<?> worker : workers) {
            get(worker);
        }
        awaitWaiterRows(0);
        other.acquire(REQUEST).close();
    }

    @Test
    void aStrayPlaceOfALivingServiceIsRemoved() throws Exception {
        LockHandle held = one.acquire(REQUEST);
        Future<LockHandle> waiting = join(1, () -> other.acquire(REQUEST));
        // As if an insert had arrived after its waiter had given up.
        database.execute("insert into lock_waiter (name, since, id, node_id, mode, permits, fair) select name, 1,"
                + " concat(substring(id, 1, 37), '4711'), node_id, mode, permits, fair from lock_waiter");
        assertThat(waiterRows()).isEqualTo(2);
        held.release();
        get(waiting).close();
        awaitWaiterRows(0);
    }

    @Test
    void aFairAcquisitionOfAFreeLockCostsThreeStatements() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService mine = services.build(
                services.patientPoolOver(counting),
                builder -> builder.withoutHousekeeping().nodeLease(ofMinutes(30)));
        mine.acquire(REQUEST).close();
        counting.reset();
        LockHandle held = mine.acquire(REQUEST);
        assertThat(counting.sql()).as(counting.sql().toString()).hasSize(3);
        held.release();
        assertThat(counting.statements()).isEqualTo(4);
        Optional<LockHandle> tried = mine.tryAcquire(LockRequest.of(NAME).fair());
        assertThat(tried).hasValueSatisfying(LockHandle::close);
        assertThat(counting.statements()).isEqualTo(8);
    }

    /** Nothing wakes a waiter at the end of a lease, so each one looks at it. A poll would take up to a second more for each. */
    @Test
    void leasesThatEndOneAfterTheOtherAreFollowedByTheNextRequest() throws Exception {
        List<Future<Instant>> grants = new ArrayList<>();
        for (int waiter = 0; waiter < 6; waiter++) {
            LockService service = services.build(builder -> builder.withoutHousekeeping());
            grants.add(threads.submit(() -> {
                LockHandle unreleased =
                        service.acquire(REQUEST.lease(ofSeconds(1)).withoutFence());
                return service.find(unreleased.name()).orElseThrow().acquiredAt();
            }));
        }
        List<Instant> acquired = new ArrayList<>();
        for (Future<Instant> grant : grants) {
            acquired.add(grant.get(SOON.multipliedBy(2).toSeconds(), TimeUnit.SECONDS));
        }
        Collections.sort(acquired);
        List<Duration> gaps = new ArrayList<>();
        for (int grant = 1; grant < acquired.size(); grant++) {
            gaps.add(Duration.between(acquired.get(grant - 1), acquired.get(grant)));
        }
        assertThat(gaps).allMatch(gap -> gap.compareTo(ofSeconds(1)) >= 0);
        // Not all: a loaded machine may be late.
        assertThat(gaps).anyMatch(gap -> gap.compareTo(ofMillis(1500)) < 0);
    }

    @Test
    void aRowLockIsNotFair() {
        assertThatThrownBy(() -> LockRequest.of(NAME).fair().rowLock())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("fair");
        assertThat(REQUEST.isFair()).isTrue();
        assertThat(UNFAIR.isFair()).isFalse();
    }
}
