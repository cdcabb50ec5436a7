package io.github.holdfast.service.engine;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.Services;
import io.github.holdfast.service.engine.acquire.GrantStep;
import io.github.holdfast.service.engine.runtime.ProcessIdentity;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.wait.WaiterThread;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Two processes that were restored from one image while they were about to acquire: both go on with the owner of that acquisition. */
@OnEachDatabase
class CopiedProcessTest {

    private static final LockRequest REQUEST = LockRequest.of("payout");

    private Database database;
    private Services services;
    private LockEngine one;
    private LockEngine other;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        one = copy();
        other = copy();
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private LockEngine copy() {
        EntityManagerFactory unit = services.unit(services.patientPoolOver(database.dataSource()));
        ServiceSettings settings = FakeTicker.settings(ServiceSettings.WakeUp.BY_POLLING, Ticker.SYSTEM);
        return services.opened(new LockEngine(() -> new EngineComponents(
                LockStore.open(unit).cancellingOverdue(Ticker.SYSTEM::nanoTime),
                CommitGuard.of(unit, null),
                settings,
                new ProcessIdentity("", () -> "the owner in the image"),
                null,
                null,
                new WaiterThread("holdfast-waiters"))));
    }

    static Stream<LockRequest> exclusive() {
        return Stream.of(REQUEST, REQUEST.lease(ofMinutes(1)), REQUEST.fair());
    }

    @ParameterizedTest
    @MethodSource("exclusive")
    void aCopyIsNotGrantedWhatTheOtherHolds(LockRequest request) throws Exception {
        LockHandle lock = one.acquire(request);
        assertThat(other.tryAcquire(request, GrantStep.NONE).handle()).isEmpty();
        assertThat(refused(other, request.waitAtMost(ofMillis(300)))).isTrue();
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        other.acquire(request).close();
    }

    private static boolean refused(LockEngine engine, LockRequest request) throws InterruptedException {
        try {
            engine.acquire(request).close();
            return false;
        } catch (LockNotAcquiredException held) {
            return true;
        }
    }

    @Test
    void ownersAreNotCounted() {
        ProcessIdentity identity = new ProcessIdentity("");
        List<String> owners =
                IntStream.range(0, 1000).mapToObj(i -> identity.newOwner()).toList();
        assertThat(owners).doesNotHaveDuplicates();
        assertThat(owners.stream().map(owner -> owner.substring(0, 8)).distinct())
                .as("they have no part in common")
                .hasSizeGreaterThan(990);
    }
}
