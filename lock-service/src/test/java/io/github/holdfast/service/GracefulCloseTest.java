package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Closing a service whose locks are held and waited for. What matters happens in memory: one database is enough. */
@OnDatabase(TestDatabase.H2_MEMORY)
class GracefulCloseTest {

    private static final Duration LONG = ofSeconds(60);
    private static final LockRequest HELD = LockRequest.of("held");

    /** The pool of the JVM may have one thread only. */
    private final ExecutorService threads = Executors.newCachedThreadPool();

    private Services services;
    private LockService locks;
    private LockService others;

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        locks = services.open();
        others = services.open();
    }

    @AfterEach
    void close() throws Exception {
        services.close();
        threads.shutdown();
    }

    @Test
    void holdersFinishAndWaitersDoNotBegin() throws Exception {
        LockHandle handle = locks.acquire(HELD);
        CompletableFuture<LockHandle> waiting = acquiring(HELD.waitAtMost(LONG));
        await().until(() -> locks.admin().waiting() == 1);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> locks.close(LONG), threads);

        assertThatThrownBy(waiting::get)
                .isInstanceOf(ExecutionException.class)
                .hasRootCauseInstanceOf(IllegalStateException.class)
                .hasRootCauseMessage(
                        "The lock service is being closed: only threads that hold a lock may acquire another one");
        assertThat(acquiring(LockRequest.of("free"))).failsWithin(LONG);
        locks.acquire(LockRequest.of("nested")).close();
        locks.acquire(HELD).close();
        assertThat(handle.state()).isEqualTo(LockState.HELD);
        assertThat(closing).isNotDone();

        handle.close();

        assertThat(closing).succeedsWithin(LONG);
        assertThat(handle.state()).isEqualTo(LockState.RELEASED);
        assertThatIllegalStateException().isThrownBy(() -> locks.find("held")).withMessageContaining("closed");
    }

    @Test
    void aRowLockIsWaitedForToo() throws Exception {
        LockHandle handle = locks.acquire(HELD.rowLock());

        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> locks.close(LONG), threads);

        await().until(() -> acquiring(LockRequest.of("free"))
                .thenApply(LockHandle::release)
                .handle((released, refused) -> refused != null)
                .get());
        assertThat(closing).isNotDone();
        handle.close();
        assertThat(closing).succeedsWithin(LONG);
    }

    /** It would join the share of this process. */
    @Test
    void aReaderBehindAWriterDoesNotBeginEither() throws Exception {
        // On a clock that stands still, the writer keeps no reader out.
        LockService closed = services.build(builder -> Services.adjusted(builder, new FakeTicker().inSettings()));
        LockHandle share = closed.acquire(HELD.shared());
        CompletableFuture<LockHandle> writer = acquiring(closed, HELD.waitAtMost(LONG));
        await().until(() -> closed.admin().waiting() == 1);
        CompletableFuture<LockHandle> reader = acquiring(closed, HELD.shared().waitAtMost(LONG));
        await().until(() -> closed.admin().waiting() == 2);

        CompletableFuture<Void> closing = CompletableFuture.runAsync(() -> closed.close(LONG), threads);

        assertThat(writer).failsWithin(LONG);
        assertThat(reader).failsWithin(LONG);
        share.close();
        assertThat(closing).succeedsWithin(LONG);
    }

    @Test
    void whoIsNotDoneWhenTheTimeIsOverLosesTheLock() throws Exception {
        LockHandle handle = locks.acquire(HELD);

        locks.close(ofMillis(100));

        assertThat(handle.state()).isEqualTo(LockState.LOST);
        assertThat(others.tryAcquire(HELD)).isPresent();
    }

    @Test
    void anInterruptEndsTheGracePeriodButNotTheClosing() throws Exception {
        LockHandle handle = locks.acquire(HELD);

        Thread.currentThread().interrupt();
        locks.close(LONG);

        assertThat(Thread.interrupted()).isTrue();
        assertThat(handle.state()).isEqualTo(LockState.LOST);
        assertThat(others.tryAcquire(HELD)).isPresent();
    }

    @Test
    void anInterruptedThreadWaitsForTheLeaderToo() {
        AtomicReference<Boolean> isLockThere = new AtomicReference<>();
        AtomicLong begun = new AtomicLong();
        Thread closer = Daemons.named("closer").newThread(() -> {
            Thread.currentThread().interrupt();
            begun.set(System.nanoTime());
            locks.close();
        });
        ElectionDiary diary = new ElectionDiary(leadership -> {}, leadership -> {
            await().until(() -> closer.getState() == Thread.State.TIMED_WAITING || !closer.isAlive());
            // After two seconds, the close does not wait any longer.
            isLockThere.set(others.find("led").isPresent()
                    || System.nanoTime() - begun.get() > ofSeconds(2).toNanos());
        });
        locks.election(ElectionRequest.of("led")).start(diary);
        diary.awaitCalls(1);

        closer.start();

        await().atMost(LONG).until(() -> isLockThere.get() != null);
        assertThat(isLockThere).hasValue(true);
        await().atMost(LONG).until(() -> !closer.isAlive());
    }

    @Test
    void anInterruptedThreadSettlesWhatIsInDoubtToo(Database database) throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockService closed = services.openOver(faults);
        LockHandle handle = closed.acquire(HELD.lease(LONG));
        faults.down();
        assertThat(handle.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        faults.up();

        Thread.currentThread().interrupt();
        closed.close();

        assertThat(Thread.interrupted()).isTrue();
        assertThat(others.find("held")).isEmpty();
    }

    @Test
    void aSecondCloseSendsNothing(Database database) throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService closed = services.build(services.patientPoolOver(counting), builder -> builder);
        LockHandle unused = closed.acquire(HELD);
        closed.close();
        counting.reset();

        closed.close();
        closed.close(LONG);

        assertThat(counting.sql()).isEmpty();
    }

    private CompletableFuture<LockHandle> acquiring(LockRequest request) {
        return acquiring(locks, request);
    }

    private CompletableFuture<LockHandle> acquiring(LockService service, LockRequest request) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return service.acquire(request);
                    } catch (InterruptedException thrown) {
                        throw new AssertionError(thrown);
                    }
                },
                threads);
    }
}
