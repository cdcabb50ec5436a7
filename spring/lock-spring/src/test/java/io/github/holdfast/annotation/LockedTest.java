package io.github.holdfast.annotation;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.annotation.LockedBeans.Board;
import io.github.holdfast.annotation.LockedBeans.Book;
import io.github.holdfast.annotation.LockedBeans.Desk;
import io.github.holdfast.annotation.LockedBeans.Post;
import io.github.holdfast.annotation.LockedBeans.Recorded;
import io.github.holdfast.annotation.LockedBeans.Rows;
import io.github.holdfast.annotation.LockedBeans.Visitor;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** Which names a method runs under, and what its caller is told. Transactions: {@link LockedTransactionTest}. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class LockedTest {

    private Database database;
    private AnnotationConfigApplicationContext context;
    private AnnotationConfigApplicationContext other;
    private LockService second;
    private Desk desk;
    private Recorded recorded;

    @BeforeAll
    void start(Database injected) {
        database = injected;
        context = Node.on(database, LockedBeans.class);
        other = Node.on(database);
        second = other.getBean(LockService.class);
        desk = context.getBean(Desk.class);
        recorded = context.getBean(Recorded.class);
    }

    @AfterAll
    void stop() {
        context.close();
        other.close();
    }

    @Test
    void afterTheEndNothingIsStartedAgain() {
        AnnotationConfigApplicationContext closed = Node.on(database, LockedBeans.class);
        Desk late = closed.getBean(Desk.class);
        AnnotationConfigApplicationContext unused = Node.on(database, LockedBeans.class);
        Desk never = unused.getBean(Desk.class);
        late.open();
        closed.close();
        unused.close();
        long nodes = database.queryForLong("select count(*) from lock_node");
        assertThatThrownBy(late::open).isInstanceOf(IllegalStateException.class).hasMessageContaining("closed");
        assertThatThrownBy(never::open)
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("closed");
        assertThat(database.queryForLong("select count(*) from lock_node")).isEqualTo(nodes);
        assertThat(closed.getBeanFactory().containsSingleton("lockService")).isFalse();
    }

    @BeforeEach
    void forget() {
        recorded.names().clear();
    }

    @Test
    void nameComesFromParametersBeansAndDefaults() {
        desk.serve("7");
        desk.open();
        desk.open(3);
        assertThat(recorded.names())
                .containsExactly("desk:north:7", Desk.class.getName() + ".open()", Desk.class.getName() + ".open(int)");
    }

    @Test
    void callWithoutAValueForTheNameNamesTheMethod() {
        assertThatThrownBy(() -> desk.serve(null))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("The lock of " + Desk.class.getName() + ".serve(String) has no valid name: {#id} is null");
        assertThatThrownBy(() -> desk.serve("7\n")).hasMessageContaining(Desk.class.getName() + ".serve(String)");
        assertThat(recorded.names()).isEmpty();
    }

    @Test
    void workForLaterIsRefusedWhateverTheTypeOfTheMethodSays() throws Exception {
        for (Object work : List.of((Runnable) () -> {}, Optional.of(Stream.of(1)), new FutureTask<>(() -> 1))) {
            assertThatThrownBy(() -> desk.returning(work))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("Desk.returning(Object) has returned work")
                    .hasMessageContaining("when nothing is held any more");
        }
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletionStage<?> returned = (CompletionStage<?>) requireNonNull(desk.returning(work));
        assertThat(second.tryAcquire(LockRequest.of("desk"))).isEmpty();
        work.complete("done");
        assertThat(returned.toCompletableFuture().get(1, TimeUnit.MINUTES)).isEqualTo("done");
        assertThat(desk.returning("desk")).isEqualTo("desk");
    }

    @Test
    void stageThatTheTypeHidesTakesNoLockFromTheCaller() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        desk.call(() -> {
            assertThatThrownBy(() -> desk.returning(work))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(
                            "Desk.returning(Object) has returned a stage that its declared type does not show");
            assertThat(desk.returning("again")).as("the thread holds the lock").isEqualTo("again");
            assertThat(second.tryAcquire(LockRequest.of("desk"))).isEmpty();
            return "done";
        });
        second.tryAcquire(LockRequest.of("desk")).orElseThrow().close();
    }

    @Test
    void stageThatTheTypeHidesKeepsNeitherARowLockNorAFence() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        assertThatThrownBy(() -> desk.returningByRow(work))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Declare CompletionStage");
        assertThatThrownBy(() -> desk.returningFenced(work))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Declare CompletionStage");
        for (String name : List.of("row", "fenced")) {
            second.tryAcquire(LockRequest.of(name)).orElseThrow().close();
        }
    }

    @Test
    void stageFailsIfItsValueIsWorkForLater() throws Exception {
        CompletableFuture<Object> work = new CompletableFuture<>();
        CompletionStage<?> returned = (CompletionStage<?>) requireNonNull(desk.returning(work));
        work.complete((Runnable) () -> {});
        assertThatThrownBy(() -> returned.toCompletableFuture().join())
                .hasCauseInstanceOf(IllegalStateException.class)
                .hasMessageContaining("Desk.returning(Object) has returned work");
        second.tryAcquire(LockRequest.of("desk")).orElseThrow().close();
    }

    @Test
    void annotationIsInheritedComposedAndOverridden() {
        Board board = context.getBean(Board.class);
        board.post("news");
        board.clear();
        @SuppressWarnings("unchecked")
        Book<Integer> book = context.getBean("ledgers", Book.class);
        book.book(12);
        context.getBean(Post.class).send();
        assertThat(recorded.names()).containsExactly("board:news", "board", "ledger:12", "office");
    }

    @Test
    void interfaceAppliesToMethodsThatTheClassInherits() {
        for (Class<?> proxies : List.of(OfInterfaces.class, OfClasses.class)) {
            try (AnnotationConfigApplicationContext tower = Node.on(database, proxies, Recorded.class, Tower.class)) {
                tower.getBean(Bell.class).ring();
                tower.getBean(Bell.class).chime();
                assertThat(tower.getBean(Recorded.class).names()).containsExactly("bell", "chimes");
            }
        }
    }

    @Locked("chimes")
    interface Bell {

        @Locked("bell")
        void ring();

        void chime();
    }

    /** It does not know the interface. */
    static class Ringer {

        public void ring() {}

        public void chime() {}
    }

    static class Tower extends Ringer implements Bell {}

    @EnableTransactionManagement
    static class OfInterfaces {}

    @EnableTransactionManagement(proxyTargetClass = true)
    static class OfClasses {}

    @Test
    void beanBehindAnotherProxyIsLockedOnce() {
        context.getBean(Visitor.class).visit();
        Rows rows = context.getBean(Rows.class);
        assertThat(rows.rows()).isEqualTo(rows.count());
        assertThat(recorded.names())
                .as("what an interface inherits, it does not lock")
                .containsExactly("visitor", Rows.class.getName() + ".rows()");
    }

    @Test
    void severalLocksAreAcquiredTogetherOrNone() throws Exception {
        desk.move("a", "b");
        desk.move("c", "c");
        assertThat(recorded.names()).containsExactly("desk:a", "desk:b", "desk:c");
        try (LockHandle unused = second.acquire(LockRequest.of("desk:b"))) {
            assertThatThrownBy(() -> desk.move("a", "b")).isInstanceOf(LockNotAcquiredException.class);
            assertThat(second.find("desk:a")).isEmpty();
        }
    }

    @Test
    void contentionIsThrownSkippedOrAnsweredByAnotherMethod() throws Exception {
        try (LockHandle unused = second.acquire(LockRequest.of("desk"))) {
            assertThatThrownBy(() -> desk.required()).isInstanceOf(LockNotAcquiredException.class);
            desk.skipped();
            assertThat(desk.skippedObject()).isNull();
            assertThat(desk.skippedOptional()).isEmpty();
            assertThat(desk.skippedStage()).isCompletedWithValue(null);
            assertThat(desk.withFallback("7")).isEqualTo("instead of 7");
            assertThat(desk.withCause("7")).isEqualTo("instead of 7: desk");
        }
        assertThat(recorded.names()).isEmpty();
        assertThat(desk.skippedOptional()).contains("done");
        assertThat(desk.withFallback("7")).isEqualTo("done");
    }

    @Test
    void contentionInsideTheMethodIsNotItsOwn() throws Exception {
        try (LockHandle unused = second.acquire(LockRequest.of("inner"))) {
            assertThatThrownBy(() -> desk.skippedBut(() -> {
                        second.acquire(LockRequest.of("inner").notReentrant().waitAtMost(Duration.ZERO));
                        return null;
                    }))
                    .isInstanceOf(LockNotAcquiredException.class);
        }
    }

    @Test
    void exceptionOfTheMethodIsThrownAsItIs() {
        IOException failure = new IOException("the printer");
        assertThatThrownBy(() -> desk.call(() -> {
                    throw failure;
                }))
                .isSameAs(failure);
        assertThat(second.find("desk")).isEmpty();
    }

    @Test
    void lossIsThrownAfterTheMethodAndNeverInsteadOfItsException() {
        assertThatThrownBy(() -> desk.named("lost", () -> {
                    takeAway("lost");
                    return "done";
                }))
                .isInstanceOf(LockLostException.class);
        IOException failure = new IOException("the printer");
        assertThatThrownBy(() -> desk.named("also lost", () -> {
                    takeAway("also lost");
                    throw failure;
                }))
                .isSameAs(failure)
                .satisfies(thrown ->
                        assertThat(thrown.getSuppressed()).hasSize(1).hasOnlyElementsOfType(LockLostException.class));
    }

    @Test
    void interruptedWaitRunsNothing() throws Exception {
        try (LockHandle unused = second.acquire(LockRequest.of("desk"))) {
            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> desk.required())
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining(Desk.class.getName() + ".required()")
                    .hasMessageContaining("[desk]")
                    .hasCauseInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();

            Thread.currentThread().interrupt();
            assertThatThrownBy(() -> desk.interruptible()).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isFalse();
        }
        assertThat(recorded.names()).isEmpty();
    }

    @Test
    void stageHoldsTheLockUntilItIsComplete() throws Exception {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> returned = desk.later(work);
        assertThat(second.find("later")).isPresent();
        assertThatThrownBy(() -> desk.later(work))
                .as("the thread does not re-enter what belongs to a stage")
                .isInstanceOf(LockNotAcquiredException.class);

        AtomicReference<Optional<?>> afterwards = new AtomicReference<>(Optional.of("not looked"));
        CompletionStage<?> looked = returned.thenRun(() -> afterwards.set(second.find("later")));
        Thread completing = new Thread(() -> work.complete("done"));
        completing.start();
        completing.join();
        looked.toCompletableFuture().get(60, TimeUnit.SECONDS);
        assertThat(afterwards.get()).as("free before anybody goes on").isEmpty();
        assertThat(returned).isCompletedWithValue("done");
    }

    @Test
    void stageThatFailsOrWasCompleteReleasesToo() {
        assertThat(desk.later(CompletableFuture.completedFuture("at once"))).isCompletedWithValue("at once");
        IOException failure = new IOException("the printer");
        assertThatThrownBy(() ->
                        desk.later(CompletableFuture.failedFuture(failure)).get())
                .isInstanceOf(ExecutionException.class)
                .hasCause(failure);
        assertThatThrownBy(() -> desk.later(null)).isInstanceOf(NullPointerException.class);
        assertThat(second.find("later")).isEmpty();
    }

    @Test
    void stageFailsIfTheLockWasLost() {
        CompletableFuture<String> work = new CompletableFuture<>();
        CompletableFuture<String> returned = desk.namedLater("lost later", work);
        takeAway("lost later");
        work.complete("done");
        assertThatThrownBy(returned::join)
                .isInstanceOf(CompletionException.class)
                .hasCauseInstanceOf(LockLostException.class);
    }

    @Test
    void rowLockIsHeldByATransactionOfItsOwn() throws Exception {
        desk.byRow(() -> {
            assertThat(second.tryAcquire(LockRequest.of("row"))).isEmpty();
            return "done";
        });
        second.tryAcquire(LockRequest.of("row")).orElseThrow().close();
    }

    @Test
    void sharedLockIsHeldTogetherWithOthersThatShareIt() throws Exception {
        LockRequest request = LockRequest.of("shared");
        desk.together(() -> {
            second.tryAcquire(request.shared()).orElseThrow().close();
            assertThat(second.tryAcquire(request)).isEmpty();
            return "done";
        });
        try (LockHandle alone = second.tryAcquire(request).orElseThrow()) {
            assertThatThrownBy(() -> desk.together(() -> alone.name())).isInstanceOf(LockNotAcquiredException.class);
        }
    }

    @Test
    void fairLockIsNotTakenWhileAnotherFairRequestWaits() throws Exception {
        desk.inOrder(() -> "the row is there");
        database.execute(
                "insert into lock_node (id, started_at, expires_at, ended, version, waits_until) values ('waiting',"
                        + " current_timestamp, current_timestamp, false, 0, current_timestamp + interval '1' hour)",
                "insert into lock_waiter (name, since, id, node_id, mode, permits, fair)"
                        + " values ('fair', 1, 'waiter', 'waiting', 'X', 1, true)");
        assertThatThrownBy(() -> desk.inOrder(() -> "done"))
                .isInstanceOf(LockNotAcquiredException.class)
                .hasMessageContaining("fair requests came first");
        database.execute("delete from lock_waiter", "delete from lock_node where id = 'waiting'");
        assertThat(desk.inOrder(() -> "done")).isEqualTo("done");
    }

    private void takeAway(String name) {
        assertThat(second.admin().forceRelease(name, "a test")).isPresent();
    }
}
