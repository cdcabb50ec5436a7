package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What those are told who measure. */
@OnDatabase(TestDatabase.H2_TCP)
class ListenerTest {

    private static final Duration SOON = ofSeconds(60);

    private final List<String> told = new CopyOnWriteArrayList<>();
    private final List<String> begun = new CopyOnWriteArrayList<>();
    private final List<String> ended = new CopyOnWriteArrayList<>();
    private volatile String lastTold = "nothing";
    private Services services;
    private LockService service;
    private TransactionTemplate transaction;

    @BeforeEach
    void open(Database database) {
        services = Services.on(database);
        EntityManagerFactory unit = services.unit(database.pool(pool -> pool.setMaximumPoolSize(5)));
        JpaTransactionManager transactions = new JpaTransactionManager(unit);
        transaction = new TransactionTemplate(transactions);
        service = services.build(
                unit,
                builder -> builder.transactionManager(transactions)
                        .nodeLease(ofSeconds(6))
                        .withoutHousekeeping()
                        .listener(new Recorder()));
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private final class Recorder implements LockListener {

        @Override
        public void acquiring(LockRequest request) {
            lastTold = "nothing";
            begun.add(request.name() + " by " + Thread.currentThread().getName());
        }

        @Override
        public void acquisitionEnded(LockRequest request) {
            begun.remove(request.name() + " by " + Thread.currentThread().getName());
            ended.add(request.name() + " after " + lastTold);
        }

        @Override
        public void acquired(String lockName, long fencingToken, Duration waited) {
            tellEnd("acquired " + lockName);
        }

        @Override
        public void refused(String lockName, Duration waited) {
            tellEnd("refused " + lockName);
        }

        @Override
        public void failed(String lockName, Duration waited, Exception cause) {
            tellEnd("failed " + lockName + ": " + cause.getClass().getSimpleName());
        }

        private void tellEnd(String event) {
            lastTold = event;
            told.add(event);
        }

        @Override
        public void overtaken(String lockName) {
            told.add("overtaken " + lockName);
        }

        @Override
        public void deferred(String lockName, long fencingToken) {
            told.add("deferred " + lockName);
        }

        @Override
        public void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {
            told.add("released " + lockName + ": " + outcome);
        }

        @Override
        public void commitRefused(String lockName) {
            told.add("refused to commit " + lockName);
        }

        @Override
        public void beaten(Duration took) {
            told.add("beaten " + (took.isNegative() ? "before it was sent" : ""));
        }
    }

    @Test
    void releaseInATransactionIsToldTwice() throws Exception {
        transaction.executeWithoutResult(status -> {
            service.tryAcquire(LockRequest.of("stock")).orElseThrow().release();
            assertThat(told).containsExactly("acquired stock", "deferred stock");
        });
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(told)
                        .filteredOn(event -> !event.startsWith("beaten"))
                        .containsExactly("acquired stock", "deferred stock", "released stock: RELEASED"));
    }

    @Test
    void refusedCommitIsTold() throws Exception {
        LockHandle lock = service.acquire(LockRequest.of("forced"));
        assertThatThrownBy(() -> transaction.executeWithoutResult(
                        status -> service.admin().forceRelease("forced", "a test")))
                .isInstanceOf(LockLostException.class);
        assertThat(told).contains("refused to commit forced");
        lock.release();
    }

    @Test
    void interruptedWaitIsAFailureAndNoRefusal() throws Exception {
        LockService second = services.open();
        try (LockHandle unused = second.acquire(LockRequest.of("stock"))) {
            Thread waiting = new Thread(
                    () -> assertThatThrownBy(() -> service.acquire(LockRequest.of("stock")))
                            .isInstanceOf(InterruptedException.class),
                    "waiting");
            waiting.start();
            await().atMost(SOON).until(() -> service.admin().waiting() == 1);
            waiting.interrupt();
            waiting.join();
        }
        assertThat(told)
                .filteredOn(event -> !event.startsWith("beaten"))
                .containsExactly("failed stock: InterruptedException");
        assertThat(ended).containsExactly("stock after failed stock: InterruptedException");
        assertThat(begun).isEmpty();
    }

    @Test
    void aTaskThatIsNotDueIsNeitherARefusalNorAFailure() {
        TaskLock task = service.task(TaskRequest.of("daily").every(Duration.ofDays(365)));
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        told.clear();
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
        assertThat(told).noneMatch(line -> line.contains("daily"));
    }

    @Test
    void everyOutermostAcquisitionIsToldFromItsBeginningToItsEndOnItsThread() throws Exception {
        LockService second = services.open();
        try (LockHandle outer = service.acquire(LockRequest.of("outer"));
                LockHandle nested = service.acquire(LockRequest.of("outer"));
                LockHandle row = service.acquire(LockRequest.of("row").rowLock());
                LockHandle theirs = second.acquire(LockRequest.of("theirs"))) {
            assertThat(service.tryAcquire(LockRequest.of("theirs"))).isEmpty();
            assertThatThrownBy(() -> service.tryAcquire(LockRequest.of("outer").rowLock()))
                    .isInstanceOf(IllegalStateException.class);
        }
        assertThat(ended)
                .containsExactly(
                        "outer after acquired outer",
                        "row after acquired row",
                        "theirs after refused theirs",
                        "outer after nothing");
        assertThat(begun).isEmpty();
    }

    @Test
    void lostRacesAreTold() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(4);
        LockService second = services.open();
        try {
            await().atMost(SOON).until(() -> {
                List<Future<?>> racers = new ArrayList<>();
                for (LockService racer : List.of(service, second, service, second)) {
                    racers.add(threads.submit(
                            () -> racer.tryAcquire(LockRequest.of("race")).ifPresent(LockHandle::release)));
                }
                for (Future<?> racer : racers) {
                    racer.get(60, TimeUnit.SECONDS);
                }
                return told.contains("overtaken race");
            });
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void confirmedHeartbeatsAreTold() throws Exception {
        try (LockHandle unused = service.acquire(LockRequest.of("stock"))) {
            await().atMost(SOON).until(() -> told.contains("beaten "));
        }
    }
}
