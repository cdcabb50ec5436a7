package io.github.holdfast.service;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.repository.StatementWatch.Watched;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** {@link OverdueStatementsContract} on the databases that let a statement wait for longer than the test. */
class OverdueStatementsTest {

    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final Duration SOON = Duration.ofSeconds(20);

    private final FakeTicker ticker = new FakeTicker();
    private final OverdueStatements overdue = new OverdueStatements(ticker);

    @AfterEach
    void close() {
        overdue.close();
    }

    private Watched begin(Runnable cancel) {
        return requireNonNull(overdue.begin(cancel, LIMIT));
    }

    /** The driver does nothing before the statement is sent, for one. */
    @Test
    void whatACancellationHasNotEndedIsCancelledAgain() {
        AtomicInteger times = new AtomicInteger();
        Watched statement = begin(times::incrementAndGet);
        for (int time = 1; time <= 3; time++) {
            int expected = time;
            ticker.advance(Duration.ofSeconds(5));
            await().until(() -> times.get() == expected);
        }
        statement.end();

        ticker.advance(Duration.ofSeconds(5));
        AtomicBoolean isNextCancelled = new AtomicBoolean();
        Watched next = begin(() -> isNextCancelled.set(true));
        ticker.advance(LIMIT);
        await().untilTrue(isNextCancelled);
        next.end();
        assertThat(times).hasValue(3);
    }

    /** Or else the connection's next statement could be hit. */
    @Test
    void whatHasEndedWaitsForItsCancellation() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Watched statement = begin(() -> {
            begun.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        ticker.advance(LIMIT);
        begun.await();
        Thread ending = new Thread(statement::end);
        ending.start();
        // Not blocked by a monitor: up to Java 23 that keeps the carrier of a virtual thread too.
        await().until(() -> ending.getState() == Thread.State.WAITING);
        goOn.countDown();
        ending.join();
    }

    @Test
    void whatIsClosedWatchesNothingMore() {
        Set<Thread> threads = CrashPoints.threads();
        begin(() -> {}).end();
        assertThat(threads.containsAll(CrashPoints.threads())).isFalse();
        overdue.close();
        assertThat(overdue.begin(() -> {}, LIMIT)).isNull();
        CrashPoints.awaitNoThreadBut(threads);
    }

    @Test
    void whatIsBeingExecutedWhenItIsClosedIsStillCancelled() {
        Set<Thread> threads = CrashPoints.threads();
        AtomicBoolean isCancelled = new AtomicBoolean();
        Watched statement = begin(() -> isCancelled.set(true));
        overdue.close();
        ticker.advance(LIMIT);
        await().untilTrue(isCancelled);
        statement.end();
        CrashPoints.awaitNoThreadBut(threads);
    }

    /** The moment between two instructions is met by chance: in about half of the runs. */
    @Test
    void threadsEndWhateverBeginsWhileItIsClosed() throws Exception {
        Set<Thread> threads = CrashPoints.threads();
        List<OverdueStatements> idle = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            OverdueStatements used = new OverdueStatements(ticker);
            requireNonNull(used.begin(() -> {}, LIMIT)).end();
            idle.add(used);
        }
        // With nothing scheduled, it is who begins or who closes that must end them.
        await().atMost(SOON)
                .until(() -> CrashPoints.threads().stream()
                        .allMatch(thread -> threads.contains(thread) || thread.getState() == Thread.State.WAITING));
        for (int i = 0; i < idle.size(); i++) {
            closeAfterBegin(idle.get(i), i % 100);
        }
        CrashPoints.awaitNoThreadBut(threads);
    }

    private static void closeAfterBegin(OverdueStatements closing, int spins) throws InterruptedException {
        CountDownLatch begins = new CountDownLatch(1);
        Thread beginning = new Thread(() -> {
            begins.countDown();
            Watched statement = closing.begin(() -> {}, LIMIT);
            if (statement != null) {
                statement.end();
            }
        });
        beginning.start();
        while (begins.getCount() > 0) {
            Thread.onSpinWait();
        }
        for (int i = 0; i < spins; i++) {
            Thread.onSpinWait();
        }
        closing.close();
        beginning.join();
    }

    @Nested
    @OnDatabase(TestDatabase.POSTGRESQL)
    class OnPostgres extends OverdueStatementsContract {}

    @Nested
    @OnDatabase(TestDatabase.MARIADB)
    class OnMariaDb extends OverdueStatementsContract {}

    @Nested
    @OnDatabase(TestDatabase.MYSQL)
    class OnMySql extends OverdueStatementsContract {}
}
