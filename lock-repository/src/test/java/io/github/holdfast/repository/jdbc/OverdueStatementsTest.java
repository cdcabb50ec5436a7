package io.github.holdfast.repository.jdbc;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.repository.jdbc.OverdueStatements.Execution;
import io.github.holdfast.repository.store.LockStore;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The repetition of a cancellation, and the threads, on a clock that the test moves. */
@Tag("outage")
class OverdueStatementsTest {

    private static final Duration LIMIT = Duration.ofSeconds(1);
    private static final Duration SOON = Duration.ofSeconds(60);

    private final AtomicLong clock = new AtomicLong();
    private final OverdueStatements overdue = new OverdueStatements(clock::get);

    @AfterEach
    void close() {
        overdue.close();
    }

    private void pass(Duration time) {
        clock.addAndGet(time.toNanos());
    }

    private static Set<Thread> threads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().startsWith("holdfast-"))
                .collect(Collectors.toSet());
    }

    private static void awaitNoThreadBut(Set<Thread> those) {
        await().atMost(SOON).until(() -> those.containsAll(threads()));
    }

    private Execution begin(Runnable cancel) {
        return requireNonNull(overdue.begin(cancel, LIMIT));
    }

    /** The driver does nothing before the statement is sent, for one. */
    @Test
    void whatACancellationHasNotEndedIsCancelledAgain() {
        AtomicInteger times = new AtomicInteger();
        Execution statement = begin(times::incrementAndGet);
        for (int time = 1; time <= 3; time++) {
            int expected = time;
            pass(Duration.ofSeconds(5));
            await().until(() -> times.get() == expected);
        }
        statement.end();

        pass(Duration.ofSeconds(5));
        AtomicBoolean isNextCancelled = new AtomicBoolean();
        Execution next = begin(() -> isNextCancelled.set(true));
        pass(LIMIT);
        await().untilTrue(isNextCancelled);
        next.end();
        assertThat(times).hasValue(3);
    }

    /** Or else the connection's next statement could be hit. */
    @Test
    void whatHasEndedWaitsForItsCancellation() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Execution statement = begin(() -> {
            begun.countDown();
            try {
                goOn.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        pass(LIMIT);
        begun.await();
        Thread ending = new Thread(statement::end);
        ending.start();
        // Not blocked by a monitor: up to Java 23 that keeps the carrier of a virtual thread too.
        await().until(() -> ending.getState() == Thread.State.WAITING);
        goOn.countDown();
        ending.join();
    }

    @Test
    void threadsKeepNeitherTheProcessAliveNorTheClassLoaderOfWhoStartedThem() throws Exception {
        Set<Thread> before = threads();
        ClassLoader own = Thread.currentThread().getContextClassLoader();
        try (URLClassLoader ofTheRequest = new URLClassLoader(new URL[0], own)) {
            Thread.currentThread().setContextClassLoader(ofTheRequest);
            begin(() -> {}).end();
        } finally {
            Thread.currentThread().setContextClassLoader(own);
        }
        assertThat(threads())
                .filteredOn(thread -> !before.contains(thread))
                .isNotEmpty()
                .allMatch(Thread::isDaemon)
                .allMatch(thread -> thread.getContextClassLoader() == LockStore.class.getClassLoader());
    }

    @Test
    void whatIsClosedWatchesNothingMore() {
        Set<Thread> threads = threads();
        begin(() -> {}).end();
        assertThat(threads.containsAll(threads())).isFalse();
        overdue.close();
        assertThat(overdue.begin(() -> {}, LIMIT)).isNull();
        awaitNoThreadBut(threads);
    }

    @Test
    void whatIsBeingExecutedWhenItIsClosedIsStillCancelled() {
        Set<Thread> threads = threads();
        AtomicBoolean isCancelled = new AtomicBoolean();
        Execution statement = begin(() -> isCancelled.set(true));
        overdue.close();
        pass(LIMIT);
        await().untilTrue(isCancelled);
        statement.end();
        awaitNoThreadBut(threads);
    }

    /** The moment between two instructions is met by chance: in about half of the runs. */
    @Test
    void threadsEndWhateverBeginsWhileItIsClosed() throws Exception {
        Set<Thread> threads = threads();
        List<OverdueStatements> idle = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            OverdueStatements used = new OverdueStatements(clock::get);
            requireNonNull(used.begin(() -> {}, LIMIT)).end();
            idle.add(used);
        }
        // With nothing scheduled, it is who begins or who closes that must end them.
        await().atMost(SOON)
                .until(() -> threads().stream()
                        .allMatch(thread -> threads.contains(thread) || thread.getState() == Thread.State.WAITING));
        for (int i = 0; i < idle.size(); i++) {
            closeAfterBegin(idle.get(i), i % 100);
        }
        awaitNoThreadBut(threads);
    }

    private static void closeAfterBegin(OverdueStatements closing, int spins) throws InterruptedException {
        CountDownLatch begins = new CountDownLatch(1);
        Thread beginning = new Thread(() -> {
            begins.countDown();
            Execution statement = closing.begin(() -> {}, LIMIT);
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
}
