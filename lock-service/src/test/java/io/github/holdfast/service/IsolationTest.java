package io.github.holdfast.service;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Locks exclude each other, and no conflict reaches the user, at every isolation level and with every kind of pool. */
@OnEachDatabase
class IsolationTest {

    private static final int THREADS = 3;
    private static final int ROUNDS = 12;
    private static final int TASKS = 4;

    @ParameterizedTest
    @CsvSource({
        "TRANSACTION_READ_COMMITTED,true",
        "TRANSACTION_READ_COMMITTED,false",
        "TRANSACTION_REPEATABLE_READ,true",
        "TRANSACTION_REPEATABLE_READ,false",
        "TRANSACTION_SERIALIZABLE,true",
        "TRANSACTION_SERIALIZABLE,false"
    })
    void noCountIsLostAndNoConflictIsSeen(String isolation, boolean autoCommit, Database database) throws Exception {
        exclude(database, isolation + autoCommit, pool -> {
            pool.setTransactionIsolation(isolation);
            pool.setAutoCommit(autoCommit);
            if (database.kind() == TestDatabase.MARIADB) {
                // On by default since 11.6.2:
                // https://mariadb.com/kb/en/innodb-system-variables/#innodb_snapshot_isolation
                pool.setConnectionInitSql("set session innodb_snapshot_isolation = on");
            }
        });
    }

    /** What else the services are built with. */
    LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder;
    }

    private void exclude(Database database, String name, Consumer<HikariConfig> pool) throws Exception {
        database.execute("drop table if exists counted");
        Counter.create(database);
        LockRequest request = LockRequest.of(name).lease(ofSeconds(60)).waitAtMost(ofSeconds(60));
        ExecutorService threads = Executors.newFixedThreadPool(2 * THREADS);
        try (Services services = Services.on(database)) {
            List<Callable<Boolean>> workers = new ArrayList<>();
            AtomicInteger runs = new AtomicInteger();
            for (int node = 0; node < 2; node++) {
                LockService service = services.build(services.opened(database.pool(pool)), this::settings);
                for (int thread = 0; thread < THREADS; thread++) {
                    workers.add(() -> increment(service, request, database) && runTasks(service, name, runs));
                }
            }
            for (Future<Boolean> worker : threads.invokeAll(workers)) {
                assertThat(worker.get()).isTrue();
            }
            assertThat(Counter.read(database)).isEqualTo(2L * THREADS * ROUNDS);
            assertThat(runs).as("each task once").hasValue(TASKS);
        } finally {
            threads.shutdownNow();
        }
    }

    private static boolean runTasks(LockService service, String name, AtomicInteger runs) {
        for (int task = 0; task < TASKS; task++) {
            TaskRequest request = TaskRequest.of(name + " " + task).every(ofDays(365));
            assertThat(service.task(request).runIfDue(lock -> runs.incrementAndGet()))
                    .isIn(TaskOutcome.SUCCEEDED, TaskOutcome.NOT_DUE, TaskOutcome.HELD);
        }
        return true;
    }

    private static boolean increment(LockService service, LockRequest request, Database database) throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            try (LockHandle lock = service.acquire(request);
                    LockHandle nested = service.acquire(request)) {
                Counter.increment(database.dataSource());
                nested.renew(ofSeconds(60));
                assertThat(nested.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
                assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
            }
        }
        return true;
    }
}
