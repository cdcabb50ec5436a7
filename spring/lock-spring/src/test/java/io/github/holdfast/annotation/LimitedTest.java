package io.github.holdfast.annotation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.annotation.LimitedBeans.Board;
import io.github.holdfast.annotation.LimitedBeans.Exports;
import io.github.holdfast.annotation.LimitedBeans.Recorded;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** How many calls run at once, under which names, and together with locks. Transactions: {@link LockedTransactionTest}. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class LimitedTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final SemaphoreRequest ONE = SemaphoreRequest.of("one").limit(1);
    private static final SemaphoreRequest BOTH =
            SemaphoreRequest.of("both permits").limit(1);

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private Database database;
    private AnnotationConfigApplicationContext context;
    private AnnotationConfigApplicationContext other;
    private LockService first;
    private LockService second;
    private Exports exports;
    private Recorded recorded;

    @BeforeAll
    void start(Database injected) {
        database = injected;
        context = Node.on(database, LimitedBeans.class);
        other = Node.on(database, LimitedBeans.class);
        first = context.getBean(LockService.class);
        second = other.getBean(LockService.class);
        exports = context.getBean(Exports.class);
        recorded = context.getBean(Recorded.class);
    }

    @AfterAll
    void stop() {
        threads.shutdownNow();
        context.close();
        other.close();
    }

    @BeforeEach
    void forget() {
        recorded.events().clear();
    }

    @Test
    void callsOfAllServicesShareTheLimit() throws Exception {
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        CyclicBarrier pair = new CyclicBarrier(2);
        Callable<String> work = () -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            pair.await(SOON.toSeconds(), TimeUnit.SECONDS);
            running.decrementAndGet();
            return "done";
        };
        List<Future<String>> calls = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            for (AnnotationConfigApplicationContext node : List.of(context, other)) {
                Exports atNode = node.getBean(Exports.class);
                calls.add(threads.submit(() -> atNode.byTwo(work)));
            }
        }
        for (Future<String> call : calls) {
            assertThat(get(call)).isEqualTo("done");
        }
        assertThat(most).hasValue(2);
        assertThat(semaphore("two")).isEqualTo(new SemaphoreInfo("two", 2, 0));
    }

    @Test
    void aBeanWithTwoNamesNeedsThePermitsOnce() {
        try (AnnotationConfigApplicationContext node = Node.on(database, TwoNames.class)) {
            for (String name : List.of("press", "samePress")) {
                Press press = node.getBean(name, Press.class);
                assertThat(press.print()).isEqualTo("done");
                assertThat(press.later().join()).isEqualTo("done");
                Tray tray = node.getBean(name.equals("press") ? "paper" : "samePaper", Tray.class);
                assertThat(tray.fill()).isEqualTo("done");
            }
        }
    }

    static class Press {
        @Limited(name = "press", limit = "1", waitAtMost = "0s")
        public String print() {
            return "done";
        }

        @Locked(name = "press later", waitAtMost = "0s")
        public CompletableFuture<String> later() {
            return CompletableFuture.completedFuture("done");
        }
    }

    /** Its proxies are those of the interface. */
    @Limited(name = "tray", limit = "1", waitAtMost = "0s")
    interface Tray {
        String fill();
    }

    @Configuration(proxyBeanMethods = false)
    static class TwoNames {
        @Bean
        Press press() {
            return new Press();
        }

        @Bean
        Press samePress(@Qualifier("press") Press press) {
            return press;
        }

        @Bean
        Tray paper() {
            return new Tray() {
                @Override
                public String fill() {
                    return "done";
                }
            };
        }

        @Bean
        Tray samePaper(@Qualifier("paper") Tray paper) {
            return paper;
        }
    }

    @Test
    void nameComesFromParametersBeansAndDefaults() {
        exports.of("7");
        exports.pair();
        String pair = Exports.class.getName() + ".pair()";
        assertThat(recorded.events())
                .containsExactly(
                        "+exports:north:7",
                        "-exports:north:7",
                        "+" + pair + ":permits",
                        "+" + pair,
                        "-" + pair,
                        "-" + pair + ":permits");
        assertThat(semaphore(pair + ":permits").limit()).isEqualTo(3);
    }

    @Test
    void callWithoutAValueForTheNameNamesTheMethod() {
        assertThatThrownBy(() -> exports.of(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("The semaphore of " + Exports.class.getName()
                        + ".of(String) has no valid name: {#customer} is null");
        assertThatThrownBy(() -> exports.bothNamed(null)).hasMessageContaining("The lock of");
        assertThat(recorded.events()).isEmpty();
    }

    @Test
    void annotationIsInheritedComposedAndOverridden() {
        Board board = context.getBean(Board.class);
        board.post("news");
        board.clear();
        board.lock();
        board.limit();
        assertThat(recorded.events())
                .filteredOn(event -> event.startsWith("+"))
                .as("a lock on the method does not replace the permits on the class")
                .containsExactly("+board:news", "+board", "+board", "+board lock", "+scarce");
    }

    @Test
    void eachCallTakesAllItsPermitsOrNone() throws Exception {
        SemaphoreRequest pairs =
                SemaphoreRequest.of(Exports.class.getName() + ".pair():permits").limit(3);
        try (LockHandle unused = acquire(pairs)) {
            exports.pair();
            try (LockHandle alsoUnused = acquire(pairs)) {
                assertThatThrownBy(() -> exports.pair()).isInstanceOf(LockNotAcquiredException.class);
            }
        }
    }

    @Test
    void contentionIsThrownSkippedOrAnsweredByAnotherMethod() throws Exception {
        try (LockHandle unused = acquire(ONE)) {
            assertThatThrownBy(() -> exports.required(() -> "done"))
                    .isInstanceOf(LockNotAcquiredException.class)
                    .hasMessageContaining("one");
            assertThat(exports.skipped()).isEmpty();
            assertThat(exports.withFallback("7")).isEqualTo("instead of 7: one");
        }
        assertThat(recorded.events()).isEmpty();
        assertThat(exports.skipped()).contains("done");
        assertThat(exports.withFallback("7")).isEqualTo("done");
    }

    @Test
    void nestedCallNeedsPermitsOfItsOwn() {
        assertThatThrownBy(() -> exports.required(() -> exports.required(() -> "done")))
                .isInstanceOf(LockNotAcquiredException.class);
        assertThat(isFree(ONE)).isTrue();
    }

    @Test
    void exceptionOfTheMethodIsThrownAsItIs() {
        IOException failure = new IOException("the printer");
        assertThatThrownBy(() -> exports.required(() -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThat(isFree(ONE)).isTrue();
    }

    @Test
    void lossIsThrownAfterTheMethod() {
        SemaphoreRequest leased = SemaphoreRequest.of("leased").limit(1);
        assertThatThrownBy(() -> exports.leased(() -> {
                    await().atMost(SOON).until(() -> isFree(leased));
                    return "done";
                }))
                .isInstanceOf(LockLostException.class);
    }

    @Test
    void interruptedWaitRunsNothing() throws Exception {
        try (LockHandle unused = acquire(ONE)) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> exports.withFallback("7"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(Exports.class.getName() + ".withFallback(String)")
                    .hasMessageContaining("[one]")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();

            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> exports.interruptible()).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
        }
        assertThat(recorded.events()).isEmpty();
    }

    @Test
    void locksAreAcquiredUnderThePermits() {
        exports.both();
        assertThat(recorded.events())
                .containsExactly("+both permits", "+both lock", "work", "-both lock", "-both permits");
    }

    @Test
    void threadThatWaitsForPermitsHoldsNoLock() throws Exception {
        Future<?> call;
        try (LockHandle unused = acquire(BOTH)) {
            call = threads.submit(() -> exports.both());
            awaitWaiter();
            second.tryAcquire(LockRequest.of("both lock")).orElseThrow().close();
        }
        get(call);
    }

    @Test
    void withoutTheLocksThePermitsAreReleased() throws Exception {
        try (LockHandle unused = second.acquire(LockRequest.of("both lock"))) {
            assertThat(exports.bothAtOnce("7")).isEqualTo("instead of 7");
            assertThat(recorded.events()).containsExactly("+both permits", "-both permits", "fallback");
            assertThat(isFree(BOTH)).isTrue();
        }
        assertThat(exports.bothAtOnce("7")).isEqualTo("done");
        try (LockHandle unused = acquire(BOTH)) {
            assertThat(exports.bothAtOnce("7")).as("the answer of the permits").isNull();
        }
    }

    @Test
    void interruptedWaitForTheLocksReleasesThePermits() throws Exception {
        CompletableFuture<Thread> thread = new CompletableFuture<>();
        AtomicReference<Boolean> isInterrupted = new AtomicReference<>();
        try (LockHandle unused = second.acquire(LockRequest.of("both lock"))) {
            Future<?> call = threads.submit(() -> {
                thread.complete(Thread.currentThread());
                try {
                    exports.both();
                } finally {
                    isInterrupted.set(Thread.interrupted());
                }
            });
            awaitWaiter();
            get(thread).interrupt();
            assertThatThrownBy(() -> get(call))
                    .isInstanceOf(ExecutionException.class)
                    .cause()
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("[both lock]");
            assertThat(isInterrupted).hasValue(true);
            assertThat(isFree(BOTH)).isTrue();
        }
        assertThat(recorded.events()).containsExactly("+both permits", "-both permits");
    }

    @Test
    void stageHoldsPermitsAndLocksUntilItIsComplete() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> returned = exports.later(work);
        assertThat(recorded.events()).containsExactly("+later permits", "+later lock");
        assertThat(semaphore("later permits").used()).isOne();
        assertThat(second.find("later lock")).isPresent();

        AtomicReference<List<String>> before = new AtomicReference<>();
        CompletionStage<?> next = returned.thenRun(() -> before.set(List.copyOf(recorded.events())));
        get(threads.submit(() -> work.complete("done")));
        next.toCompletableFuture().get(SOON.toSeconds(), TimeUnit.SECONDS);
        assertThat(before.get())
                .as("free before anybody goes on")
                .containsExactly("+later permits", "+later lock", "-later lock", "-later permits");
        assertThat(semaphore("later permits").used()).isZero();
    }

    private LockHandle acquire(SemaphoreRequest request) throws InterruptedException {
        return second.semaphore(request).acquire();
    }

    private boolean isFree(SemaphoreRequest request) {
        Optional<LockHandle> permit = second.semaphore(request).tryAcquire();
        permit.ifPresent(LockHandle::close);
        return permit.isPresent();
    }

    private SemaphoreInfo semaphore(String name) {
        return second.admin().semaphores().page("", 100).stream()
                .filter(semaphore -> semaphore.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private void awaitWaiter() {
        await().atMost(SOON).until(() -> first.admin().waiters().size() == 1);
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }
}
