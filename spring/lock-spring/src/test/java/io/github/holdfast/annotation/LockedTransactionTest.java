package io.github.holdfast.annotation;

import static io.github.holdfast.test.TestDatabase.H2_MEMORY;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.annotation.Tills.Till;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.semaphore.Semaphore;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.core.Ordered;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/**
 * The lock and the permits are taken before the transaction begins and given back after its commit, wherever the annotations
 * stand, and whatever order the transactions have.
 */
@OnEachDatabase({H2_MEMORY, POSTGRESQL, MYSQL})
@TestInstance(Lifecycle.PER_CLASS)
class LockedTransactionTest {

    private static final int SALES = 10;

    private Database database;
    private AnnotationConfigApplicationContext byDefault;
    private AnnotationConfigApplicationContext byOrder;

    @EnableTransactionManagement
    static class DefaultOrder {}

    /** Outside nearly everything, and with classes as proxies. */
    @EnableTransactionManagement(order = Ordered.HIGHEST_PRECEDENCE + 1, proxyTargetClass = true)
    static class OutermostOrder {}

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        database.execute("create table till (id integer not null primary key, sold integer not null)");
        byDefault = Node.on(database, DefaultOrder.class, Tills.class);
        byOrder = Node.on(database, OutermostOrder.class, Tills.class);
    }

    @AfterAll
    void stop() {
        byDefault.close();
        byOrder.close();
    }

    @BeforeEach
    void reset() {
        database.execute("delete from till");
        database.execute("insert into till values (1, 0)");
        events(byDefault).clear();
        events(byOrder).clear();
    }

    @ParameterizedTest
    @ValueSource(strings = {"above", "below", "onClasses", "lockOnClass", "transactionOnClass", "limiting"})
    void lockEnclosesItsTransaction(String till) {
        for (AnnotationConfigApplicationContext node : List.of(byDefault, byOrder)) {
            node.getBean(till, Till.class).sell();

            assertThat(events(node)).containsExactly("acquired", "begun", "committed", "released");
            assertThatThrownBy(() -> node.getBean(till, Till.class).fail()).hasMessage("no change");
            assertThat(events(node).subList(4, events(node).size()))
                    .containsExactly("acquired", "begun", "rolled back", "released");
        }
    }

    @Test
    void permitsAndLockEncloseTheTransaction() {
        for (AnnotationConfigApplicationContext node : List.of(byDefault, byOrder)) {
            node.getBean("both", Till.class).sell();

            assertThat(events(node))
                    .containsExactly("acquired", "acquired", "begun", "committed", "released", "released");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"above", "below", "onClasses", "lockOnClass", "transactionOnClass", "limiting", "both"})
    void secondNodeSeesWhatTheFirstHasCommitted(String till) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(2);
        try {
            List<Future<?>> sellers = new ArrayList<>();
            for (AnnotationConfigApplicationContext node : List.of(byDefault, byOrder)) {
                Till atNode = node.getBean(till, Till.class);
                sellers.add(threads.submit(() -> {
                    for (int sale = 0; sale < SALES; sale++) {
                        atNode.sell();
                    }
                }));
            }
            for (Future<?> seller : sellers) {
                seller.get(60, TimeUnit.SECONDS);
            }
        } finally {
            threads.shutdownNow();
        }
        assertThat(database.queryForLong("select sold from till")).isEqualTo(2 * SALES);
    }

    @ParameterizedTest
    @ValueSource(strings = {"above", "onClasses"})
    void lockInsideTheCallersTransactionIsHeldUntilThatHasCommitted(String till) throws Exception {
        Till atFirst = byOrder.getBean(till, Till.class);
        LockService second = byDefault.getBean(LockService.class);
        LockRequest tillLock = LockRequest.of("till-" + till);
        byOrder.getBean(Tills.Office.class).during(() -> {
            atFirst.sell();
            assertThat(second.tryAcquire(tillLock)).isEmpty();
        });
        try (LockHandle unused = second.acquire(tillLock)) {
            assertThat(database.queryForLong("select sold from till")).isEqualTo(1);
        }
    }

    @Test
    void permitsInsideTheCallersTransactionAreHeldUntilThatHasCommitted() throws Exception {
        Semaphore permits = byDefault
                .getBean(LockService.class)
                .semaphore(SemaphoreRequest.of("till-limiting").limit(1));
        Till atFirst = byOrder.getBean("limiting", Till.class);
        byOrder.getBean(Tills.Office.class).during(() -> {
            atFirst.sell();
            assertThat(permits.tryAcquire()).isEmpty();
        });
        try (LockHandle unused = permits.acquire()) {
            assertThat(database.queryForLong("select sold from till")).isEqualTo(1);
        }
    }

    private static List<String> events(AnnotationConfigApplicationContext node) {
        return node.getBean(Tills.Events.class).told();
    }
}
