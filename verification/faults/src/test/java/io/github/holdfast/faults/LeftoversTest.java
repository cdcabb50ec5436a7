package io.github.holdfast.faults;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** What is left is found, and nothing else. */
@Isolated("counts the threads of this JVM")
@OnDatabase(TestDatabase.H2_MEMORY)
class LeftoversTest {

    private static final LockRequest REQUEST = LockRequest.of("left");

    private HikariDataSource pool;
    private EntityManagerFactory unit;
    private LockService locks;
    private Leftovers leftovers;

    @BeforeEach
    void open(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        pool = database.pool(config -> {});
        unit = Units.on(pool);
        locks = LockService.builder(unit).build();
        leftovers =
                new Leftovers(locks, pool, Set.copyOf(Thread.getAllStackTraces().keySet()));
    }

    @AfterEach
    void close() {
        locks.close();
        unit.close();
    }

    @Test
    void whatWasGivenBackIsNotLeft() throws Exception {
        locks.acquire(REQUEST).close();
        locks.acquire(REQUEST.lease(ofSeconds(60))).close();
        locks.acquire(REQUEST.rowLock()).close();
        assertThat(leftovers.ofOpenService(ofSeconds(20))).isEmpty();
        locks.close();
        assertThat(leftovers.ofClosedService(ofSeconds(20))).isEmpty();
    }

    @Test
    void aHold() throws Exception {
        try (LockHandle lock = locks.acquire(REQUEST)) {
            assertThat(leftovers.ofOpenService(ZERO))
                    .anyMatch(text -> text.startsWith("held") && text.contains("left"));
            assertThat(lock.name()).isEqualTo("left");
        }
    }

    @Test
    void aConnection() throws Exception {
        try (Connection borrowed = pool.getConnection()) {
            assertThat(leftovers.ofOpenService(ZERO)).anyMatch(text -> text.startsWith("connections borrowed"));
            assertThat(leftovers.ofClosedService(ZERO)).anyMatch(text -> text.startsWith("connections borrowed"));
            assertThat(borrowed.isClosed()).isFalse();
        }
    }

    @Test
    void aThread() throws Exception {
        CountDownLatch isOver = new CountDownLatch(1);
        Thread forgotten = new Thread(
                () -> await().atMost(Duration.ofSeconds(60)).until(() -> isOver.getCount() == 0), "forgotten");
        forgotten.start();
        assertThat(leftovers.ofOpenService(ZERO)).contains("1 threads forgotten");
        isOver.countDown();
        forgotten.join();
    }

    @Test
    void threadsOfAServiceThatIsNotClosed() throws Exception {
        locks.acquire(REQUEST).close();
        assertThat(leftovers.ofClosedService(ZERO)).contains("1 threads holdfast-heartbeat");
    }

    @Test
    void aPlaceInTheQueue() throws Exception {
        try (LockHandle lock = locks.acquire(REQUEST)) {
            Thread waiting = new Thread(() -> {
                try {
                    locks.acquire(REQUEST).close();
                } catch (InterruptedException expected) {
                    // It is told not to wait any more.
                }
            });
            waiting.start();
            await().atMost(Duration.ofSeconds(60)).until(() -> locks.admin().waiting() == 1);
            assertThat(leftovers.ofOpenService(ZERO)).anyMatch(text -> text.startsWith("in the queue"));
            waiting.interrupt();
            waiting.join();
            assertThat(lock.name()).isEqualTo("left");
        }
    }
}
