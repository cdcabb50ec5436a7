package io.github.holdfast.service;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.repository.StatementWatch.Watched;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
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
        await().until(() -> ending.getState() == Thread.State.BLOCKED);
        goOn.countDown();
        ending.join();
    }

    @Test
    void whatIsClosedWatchesNothingMore() {
        Set<Thread> threads = CrashPoints.threads();
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
