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
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** {@link LockRequest#fair()}: the order of arrival over services and threads, and who is passed over. */
abstract class FairContract {

    static final Duration SOON = ofSeconds(30);
    static final String NAME = "fair";
    static final LockRequest REQUEST = LockRequest.of(NAME).fair().waitAtMost(ofMinutes(5));
    private static final LockRequest UNFAIR = LockRequest.of(NAME).waitAtMost(ofMinutes(5));

    final ExecutorService threads = Executors.newCachedThreadPool();
    private TestServices services;
    LockService one;
    LockService other;

    @BeforeEach
    void build() {
        services = services();
        services.tables().clear();
        one = services.build(builder -> builder.withoutHousekeeping());
        other = services.build(builder -> builder.withoutHousekeeping());
    }

    /** Opens the services of the leaf. */
    abstract TestServices services();

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    final long waiterRows() {
        return services.tables().count("HoldfastWaiter");
    }

    final void awaitWaiterRows(int count) {
        await().atMost(SOON).untilAsserted(() -> assertThat(waiterRows()).isEqualTo(count));
    }

    static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    /** Lets one more thread wait, after all others. */
    final <T> Future<T> join(int place, java.util.concurrent.Callable<T> work) {
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

    static int grantedTo(int number, LockService service, List<Integer> granted) throws Exception {
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
        services.tables().delete("HoldfastWaiter", Map.of("nodeId", "another"));
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
        services.tables()
                .update(
                        "HoldfastNode",
                        Map.of("waitsUntil", one.admin().databaseClock().minusSeconds(1)),
                        Map.of("id", "another"));
        get(waiting).close();
        assertThat(waiterRows()).as("places that no longer count").isEqualTo(1);
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
        assertThat(Math.abs(grants[0].get() - grants[1].get() - difference)).isLessThanOrEqualTo(20);
        awaitWaiterRows(0);
    }

    @Test
    void aRowLockIsNotFair() {
        assertThatThrownBy(() -> LockRequest.of(NAME).fair().rowLock())
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("fair");
        assertThat(REQUEST.isFair()).isTrue();
        assertThat(UNFAIR.isFair()).isFalse();
    }

    /** The first place in the queue, of a node that does nothing. */
    final void placeOfAnotherNode(Duration marked) {
        Instant now = one.admin().databaseClock();
        services.tables()
                .insert(
                        "HoldfastNode",
                        Map.of(
                                "id",
                                "another",
                                "startedAt",
                                now,
                                "expiresAt",
                                now.plus(marked),
                                "ended",
                                false,
                                "version",
                                0L,
                                "waitsUntil",
                                now.plus(marked)));
        services.tables()
                .insert(
                        "HoldfastWaiter",
                        Map.of(
                                "name", NAME, "since", 1L, "id", "waiter", "nodeId", "another", "mode", "X", "permits",
                                1, "fair", true));
    }
}
