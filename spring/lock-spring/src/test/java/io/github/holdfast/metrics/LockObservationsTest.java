package io.github.holdfast.metrics;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.annotation.NodeUnit;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.micrometer.observation.Observation;
import io.micrometer.observation.tck.TestObservationRegistry;
import io.micrometer.observation.tck.TestObservationRegistryAssert;
import jakarta.persistence.EntityManagerFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.datasource.DelegatingDataSource;

/** What a trace shows of acquisitions. */
@OnDatabase(TestDatabase.H2_TCP)
class LockObservationsTest {

    private final TestObservationRegistry registry = TestObservationRegistry.create();

    /** What was observed on the thread each time that it asked for a connection. */
    private final List<String> current = new CopyOnWriteArrayList<>();

    private HikariDataSource pool;
    private EntityManagerFactory unit;
    private FaultyDataSource faults;
    private LockService locks;

    @BeforeEach
    void open(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute("delete from distributed_lock", "delete from lock_holder", "delete from lock_run");
        faults = new FaultyDataSource(database.dataSource());
        pool = database.pool(faults, faults, config -> {
            config.setMaximumPoolSize(5);
            config.setConnectionTimeout(1000);
        });
        unit = NodeUnit.on(watched(pool));
        locks = LockService.builder(unit)
                .withoutHousekeeping()
                .listener(LockObservations.of(registry, LockGroup.byPrefix()))
                .build();
        current.clear();
    }

    private DataSource watched(DataSource source) {
        return new DelegatingDataSource(source) {
            @Override
            public Connection getConnection() throws SQLException {
                Observation observation = registry.getCurrentObservation();
                if (observation != null) {
                    current.add(Objects.requireNonNull(observation.getContext().getContextualName()));
                }
                return super.getConnection();
            }
        };
    }

    @AfterEach
    void close() {
        assertThat(registry.getCurrentObservation())
                .as("nothing is left on the thread")
                .isNull();
        locks.close();
        unit.close();
        pool.close();
    }

    private TestObservationRegistryAssert.TestObservationRegistryAssertReturningObservationContextAssert observed() {
        return TestObservationRegistryAssert.assertThat(registry)
                .hasNumberOfObservationsWithNameEqualTo(LockObservations.NAME, 1)
                .hasObservationWithNameEqualTo(LockObservations.NAME)
                .that();
    }

    @Test
    void anAcquisitionIsAChildOfWhatIsUnderWayAndItsStatementsAreInside() throws Exception {
        Observation.createNotStarted("order", registry).contextualName("order").observeChecked(() -> {
            Observation outer = Objects.requireNonNull(registry.getCurrentObservation());
            try (LockHandle lock = locks.acquire(LockRequest.of("order:1001"))) {
                assertThat(registry.getCurrentObservation()).isSameAs(outer);
                LockHandle nested = locks.acquire(LockRequest.of("order:1001"));
                nested.close();
            }
        });

        observed()
                .hasParentObservationContextMatching(parent -> "order".equals(parent.getName()))
                .hasContextualNameEqualTo("acquire order")
                .hasLowCardinalityKeyValue("group", "order")
                .hasLowCardinalityKeyValue("kind", "node")
                .hasLowCardinalityKeyValue("outcome", "acquired")
                .hasHighCardinalityKeyValue("lock", "order:1001")
                .doesNotHaveError()
                .hasBeenStarted()
                .hasBeenStopped();
        assertThat(current).startsWith("acquire order", "acquire order").endsWith("order");
    }

    @Test
    void contentionIsNoError() throws Exception {
        LockService others = LockService.builder(unit).withoutHousekeeping().build();
        try (others;
                LockHandle lock = others.acquire(LockRequest.of("order:1"))) {
            assertThat(locks.tryAcquire(LockRequest.of("order:1").lease(Duration.ofSeconds(10))))
                    .isEmpty();
        }
        observed()
                .hasLowCardinalityKeyValue("kind", "lease")
                .hasLowCardinalityKeyValue("outcome", "refused")
                .doesNotHaveError()
                .hasBeenStopped();
    }

    @Test
    void aFailureIsAnError() {
        faults.down();
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> locks.tryAcquire(LockRequest.of("order:1").lease(Duration.ofSeconds(10))));
        faults.up();
        observed().hasLowCardinalityKeyValue("outcome", "failed").hasError().hasBeenStopped();
    }

    @Test
    void whatIsNotPossibleEndsToo() throws Exception {
        try (LockHandle row = locks.acquire(LockRequest.of("order:1").rowLock())) {
            registry.clear();
            assertThatIllegalStateException().isThrownBy(() -> locks.acquire(LockRequest.of("order:1")));
        }
        observed().hasLowCardinalityKeyValue("outcome", "none").hasBeenStopped();
    }

    @Test
    void permitsAreObservedLikeALock() {
        SemaphoreRequest request = SemaphoreRequest.of("export:1").limit(1).lease(Duration.ofSeconds(10));
        try (LockHandle permit = locks.semaphore(request).tryAcquire().orElseThrow()) {
            observed()
                    .hasContextualNameEqualTo("acquire export")
                    .hasLowCardinalityKeyValue("kind", "lease")
                    .hasLowCardinalityKeyValue("outcome", "acquired")
                    .hasHighCardinalityKeyValue("lock", permit.name())
                    .hasBeenStopped();
            registry.clear();
            assertThat(locks.semaphore(request).tryAcquire()).isEmpty();
            observed()
                    .hasLowCardinalityKeyValue("outcome", "refused")
                    .doesNotHaveError()
                    .hasBeenStopped();
        }
    }

    @Test
    void aNameOfALockIsNotPossibleForPermits() throws Exception {
        try (LockHandle lock = locks.acquire(LockRequest.of("order:1"))) {
            registry.clear();
            SemaphoreRequest request = SemaphoreRequest.of(lock.name()).limit(1);
            assertThatIllegalStateException()
                    .isThrownBy(() -> locks.semaphore(request).tryAcquire());
        }
        observed().hasLowCardinalityKeyValue("outcome", "none").hasBeenStopped();
    }

    @Test
    void aTaskThatIsNotDueEndsToo() {
        TaskLock task = locks.task(TaskRequest.of("nightly").every(Duration.ofDays(365)));
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.SUCCEEDED);
        registry.clear();
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.NOT_DUE);
        observed()
                .hasLowCardinalityKeyValue("group", LockGroup.NONE)
                .hasLowCardinalityKeyValue("outcome", "none")
                .hasBeenStopped();
    }
}
