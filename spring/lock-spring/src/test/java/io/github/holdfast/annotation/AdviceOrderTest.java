package io.github.holdfast.annotation;

import static java.util.Collections.nCopies;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.annotation.AdviceOrder.Kind;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.RunInfo;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import jakarta.validation.ConstraintViolationException;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.cache.Cache;
import org.springframework.cache.CacheManager;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.authentication.AuthenticationCredentialsNotFoundException;
import org.springframework.security.authentication.TestingAuthenticationToken;
import org.springframework.security.core.context.SecurityContextHolder;

/**
 * The order of {@code @Locked}, {@code @Limited} and {@code @ScheduledLock} among other advice, as docs/start/annotations.md describes it.
 */
@OnDatabase(TestDatabase.H2_MEMORY)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AdviceOrderTest {

    private AnnotationConfigApplicationContext application;
    private AnnotationConfigApplicationContext reversed;

    static class Reversed {
        @Bean
        static AdviceOrder order() {
            return new AdviceOrder(EnumSet.of(Kind.CACHE));
        }
    }

    @BeforeAll
    void start(Database database) {
        application = Node.on(database, AdviceDesk.class);
        reversed = Node.on(database, AdviceDesk.class, Reversed.class);
    }

    @AfterAll
    void stop() {
        application.close();
        reversed.close();
    }

    @AfterEach
    void reset() {
        SecurityContextHolder.clearContext();
        for (AnnotationConfigApplicationContext each : List.of(application, reversed)) {
            events(each).clear();
            breaker(each).reset();
        }
    }

    private static List<String> events(AnnotationConfigApplicationContext context) {
        return context.getBean(AdviceDesk.Events.class).told;
    }

    private static CircuitBreaker breaker(AnnotationConfigApplicationContext context) {
        return context.getBean(CircuitBreakerRegistry.class).circuitBreaker("desk");
    }

    private static Cache cache(AnnotationConfigApplicationContext context, String name) {
        return Objects.requireNonNull(context.getBean(CacheManager.class).getCache(name));
    }

    private static void signIn() {
        SecurityContextHolder.getContext().setAuthentication(new TestingAuthenticationToken("clerk", "", "ROLE_CLERK"));
    }

    /** What another owner holds meanwhile. */
    enum Held {
        LOCK,
        PERMITS;

        LockHandle from(LockService locks) throws InterruptedException {
            LockHandle handle = this == LOCK
                    ? locks.acquire(LockRequest.of(AdviceDesk.LOCK))
                    : locks.semaphore(SemaphoreRequest.of("seats").limit(1)).acquire();
            handle.detach();
            return handle;
        }
    }

    static Stream<Arguments> refusals() {
        return calls(Map.of(
                "validation", call(desk -> desk.validated(-1), ConstraintViolationException.class),
                "security", call(AdviceDesk.Locks::secured, AccessDeniedException.class),
                "breaker", call(AdviceDesk.Locks::breaker, CallNotPermittedException.class)));
    }

    static Stream<Arguments> retries() {
        return calls(Map.of(
                "Spring Retry", call(AdviceDesk.Locks::springRetry, LockNotAcquiredException.class),
                "Spring 7", call(AdviceDesk.Locks::spring7, LockNotAcquiredException.class),
                "Resilience4j", call(AdviceDesk.Locks::resilience4j, LockNotAcquiredException.class)));
    }

    private record Call(Consumer<AdviceDesk.Locks> method, Class<? extends Exception> outcome) {}

    private static Call call(Consumer<AdviceDesk.Locks> method, Class<? extends Exception> outcome) {
        return new Call(method, outcome);
    }

    private static Stream<Arguments> calls(Map<String, Call> calls) {
        return calls.entrySet().stream()
                .flatMap(call -> Stream.of(Held.values())
                        .map(held -> Arguments.argumentSet(
                                call.getKey() + ", held " + held,
                                call.getValue().method(),
                                call.getValue().outcome(),
                                held)));
    }

    private static void callWhileHeld(
            AnnotationConfigApplicationContext context,
            Consumer<AdviceDesk.Locks> method,
            Class<? extends Exception> outcome,
            Held held)
            throws InterruptedException {
        breaker(context).transitionToForcedOpenState();
        try (LockHandle unused = held.from(context.getBean(LockService.class))) {
            events(context).clear();
            assertThatThrownBy(() -> method.accept(context.getBean(AdviceDesk.Locks.class)))
                    .isInstanceOf(outcome);
        }
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void aRefusedCallAsksForNoLock(Consumer<AdviceDesk.Locks> method, Class<? extends Exception> outcome, Held held)
            throws InterruptedException {
        callWhileHeld(application, method, outcome, held);

        assertThat(events(application)).containsExactly("released");
    }

    @ParameterizedTest
    @MethodSource("refusals")
    void theOrderCanBeReversed(Consumer<AdviceDesk.Locks> method, Class<? extends Exception> outcome, Held held)
            throws InterruptedException {
        callWhileHeld(reversed, method, LockNotAcquiredException.class, held);

        assertThat(events(reversed)).contains("refused");
    }

    @ParameterizedTest
    @MethodSource("retries")
    void aRefusedLockIsRetried(Consumer<AdviceDesk.Locks> method, Class<? extends Exception> outcome, Held held)
            throws InterruptedException {
        callWhileHeld(application, method, outcome, held);
        assertThat(events(application)).filteredOn("refused"::equals).hasSize(AdviceDesk.ATTEMPTS);

        callWhileHeld(reversed, method, outcome, held);
        assertThat(events(reversed)).filteredOn("refused"::equals).hasSize(1);
    }

    @ParameterizedTest
    @MethodSource("retries")
    void eachAttemptAcquiresAnew(Consumer<AdviceDesk.Locks> method, Class<? extends Exception> outcome, Held held) {
        method.accept(application.getBean(AdviceDesk.Locks.class));
        assertThat(events(application))
                .isEqualTo(
                        nCopies(AdviceDesk.ATTEMPTS, List.of("acquired", "acquired", "tried", "released", "released"))
                                .stream()
                                .flatMap(List::stream)
                                .toList());

        method.accept(reversed.getBean(AdviceDesk.Locks.class));
        assertThat(events(reversed))
                .containsExactly("acquired", "acquired", "tried", "tried", "tried", "released", "released");
    }

    @Test
    void aResultThatIsNotValidRollsTheTransactionBack() {
        AdviceDesk.Locks desk = application.getBean(AdviceDesk.Locks.class);

        assertThatThrownBy(() -> desk.result(-1)).isInstanceOf(ConstraintViolationException.class);

        assertThat(events(application)).containsExactly("acquired", "acquired", "rolled back", "released", "released");
    }

    @Test
    void theCacheIsInsideUnlessItIsPutOutside() throws InterruptedException {
        for (AnnotationConfigApplicationContext context : List.of(application, reversed)) {
            assertThat(context.getBean(AdviceDesk.Locks.class).cached()).isEqualTo(1);
        }
        try (LockHandle unused = Held.LOCK.from(application.getBean(LockService.class))) {
            assertThatThrownBy(() -> application.getBean(AdviceDesk.Locks.class).cached())
                    .isInstanceOf(LockNotAcquiredException.class);
            assertThat(reversed.getBean(AdviceDesk.Locks.class).cached()).isEqualTo(1);
        }
    }

    private List<RunInfo> runs(String task) {
        return application.getBean(LockService.class).admin().runs(task, Long.MAX_VALUE, 10);
    }

    static Stream<Arguments> refusedTasks() {
        return Stream.of(
                Arguments.argumentSet("validation", "validated", (Consumer<AdviceDesk.Tasks>) tasks -> {
                    assertThatThrownBy(() -> tasks.validated(-1)).isInstanceOf(ConstraintViolationException.class);
                    assertThat(tasks.events().told).isEmpty();
                    tasks.validated(1);
                }),
                Arguments.argumentSet("security", "secured", (Consumer<AdviceDesk.Tasks>) tasks -> {
                    SecurityContextHolder.clearContext();
                    assertThatThrownBy(tasks::secured).isInstanceOf(AuthenticationCredentialsNotFoundException.class);
                    assertThat(tasks.events().told).isEmpty();
                    signIn();
                    tasks.secured();
                }));
    }

    @ParameterizedTest
    @MethodSource("refusedTasks")
    void aRefusedCallUsesUpNoPeriod(String name, Consumer<AdviceDesk.Tasks> calls) {
        calls.accept(application.getBean(AdviceDesk.Tasks.class));

        assertThat(events(application)).containsExactly("acquired", "work", "released");
        assertThat(runs(name)).singleElement().extracting(RunInfo::status).isEqualTo(LockRun.Status.SUCCEEDED);
    }

    @Test
    void anOpenBreakerUsesUpNoPeriod() {
        AdviceDesk.Tasks tasks = application.getBean(AdviceDesk.Tasks.class);
        breaker(application).transitionToForcedOpenState();
        assertThatThrownBy(tasks::breaker).isInstanceOf(CallNotPermittedException.class);
        breaker(application).reset();
        assertThat(runs("breaker")).isEmpty();

        tasks.breaker();
        assertThat(events(application)).containsExactly("acquired", "work", "released");
    }

    @Test
    void aNodeThatDoesNotLeadUsesUpNoPeriod() {
        AdviceDesk.Tasks tasks = application.getBean(AdviceDesk.Tasks.class);
        LeaderElection election = application.getBean(LeaderElection.class);
        tasks.leading();
        assertThat(runs("leading")).isEmpty();

        election.start();
        await().until(election::isLeader);
        tasks.leading();
        assertThat(runs("leading")).hasSize(1);
    }

    static Stream<Arguments> retriedTasks() {
        return Stream.of(
                Arguments.argumentSet(
                        "Spring Retry", "springRetry", (Consumer<AdviceDesk.Tasks>) AdviceDesk.Tasks::springRetry),
                Arguments.argumentSet("Spring 7", "spring7", (Consumer<AdviceDesk.Tasks>) AdviceDesk.Tasks::spring7),
                Arguments.argumentSet(
                        "Resilience4j", "resilience4j", (Consumer<AdviceDesk.Tasks>) AdviceDesk.Tasks::resilience4j));
    }

    /** Outside, the second attempt would find a period that has its run, and the retry would call that a success. */
    @ParameterizedTest
    @MethodSource("retriedTasks")
    void aRunIncludesItsRetries(String name, Consumer<AdviceDesk.Tasks> call) {
        call.accept(application.getBean(AdviceDesk.Tasks.class));

        assertThat(events(application)).containsExactly("acquired", "tried", "tried", "tried", "released");
        assertThat(runs(name)).singleElement().extracting(RunInfo::status).isEqualTo(LockRun.Status.SUCCEEDED);
    }

    @Test
    void aCallThatIsNotDueDoesNotTouchTheCache() {
        AdviceDesk.Tasks tasks = application.getBean(AdviceDesk.Tasks.class);
        Cache cache = cache(application, "tasks");
        cache.put("key", "first");
        tasks.evicting();
        assertThat(cache.get("key")).isNull();

        cache.put("key", "second");
        tasks.evicting();
        assertThat(cache.get("key")).isNotNull();
    }

    /** Although {@code @EnableAsync} has an order that puts it inside. */
    @Test
    void theLockIsHeldOnTheThreadOfAnAsynchronousTask() throws InterruptedException {
        AdviceDesk.Tasks tasks = application.getBean(AdviceDesk.Tasks.class);
        tasks.background();
        try {
            tasks.awaitBackground();
            assertThat(application.getBean(LockService.class).find("background"))
                    .isPresent();
        } finally {
            tasks.endBackground();
        }
        await().untilAsserted(() -> assertThat(runs("background"))
                .singleElement()
                .extracting(RunInfo::status)
                .isEqualTo(LockRun.Status.SUCCEEDED));
    }

    @Test
    void allAdviceOnOneMethod() {
        AdviceDesk.Tasks tasks = application.getBean(AdviceDesk.Tasks.class);
        signIn();
        assertThatThrownBy(() -> tasks.all(-1)).isInstanceOf(ConstraintViolationException.class);
        assertThat(events(application)).isEmpty();

        tasks.all(1);

        assertThat(events(application))
                .containsExactly(
                        "acquired",
                        "acquired",
                        "tried",
                        "released",
                        "acquired",
                        "tried",
                        "released",
                        "acquired",
                        "tried",
                        "released",
                        "released");
    }
}
