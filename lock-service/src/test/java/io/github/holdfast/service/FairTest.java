package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** {@link FairContract} on databases: also answers that come late, storms, and statements. */
@OnEachDatabase
class FairTest extends FairContract {

    private final Database database;
    private final Services onDatabase;

    FairTest(Database database) {
        this.database = database;
        onDatabase = Services.on(database);
    }

    @Override
    TestServices services() {
        return onDatabase;
    }

    @Test
    void theCallsOfOneServiceAreServedInTheirOrderAlsoIfTheDatabaseAnswersTheFirstOnesLast() throws Exception {
        LateAnswer first = new LateAnswer(database.dataSource());
        LateAnswer second = new LateAnswer(first.dataSource());
        LockService service = onDatabase.patientlyOpenOver(second.dataSource());
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

    /** On a loaded machine, the row can stay locked for longer than an attempt may wait for it. */
    static void assertBusy(LockStoreException busy) {
        assertThat(busy)
                .cause()
                .isInstanceOfSatisfying(
                        StoreException.class,
                        cause -> assertThat(cause.failure()).isEqualTo(StoreException.Failure.BUSY));
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
        LockService mine = onDatabase.build(
                onDatabase.patientPoolOver(counting),
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

    /** Nothing wakes a waiter at the end of a lease, so each one reads the row then. */
    @Test
    void leasesThatEndOneAfterTheOtherAreFollowedByTheNextRequest() throws Exception {
        List<Future<Instant>> grants = new ArrayList<>();
        for (int waiter = 0; waiter < 6; waiter++) {
            LockService service = onDatabase.build(builder -> builder.withoutHousekeeping());
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
    }
}
