package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.test.ClockedDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The clock of the one server is set by a minute, forward and back, while two services hold locks without a lease in turn. */
@Tag("outage")
class ClockSetTest {

    private static final Duration SOON = ofMinutes(2);
    private static final Duration NODE_LEASE = ofSeconds(9);

    private final Queue<LockLost> losses = new ConcurrentLinkedQueue<>();
    private final AtomicInteger holders = new AtomicInteger();
    private final AtomicInteger overlaps = new AtomicInteger();
    private final AtomicInteger grants = new AtomicInteger();
    private final AtomicBoolean isOver = new AtomicBoolean();

    @ParameterizedTest
    @EnumSource(names = {"POSTGRESQL", "MYSQL", "MARIADB"})
    void aClockThatIsSetTakesNoLockFromItsHolder(TestDatabase kind) throws Exception {
        LocalDateTime now = LocalDateTime.now(ZoneOffset.UTC);
        try (ClockedDatabase clocked = ClockedDatabase.start(kind, now, ZoneId.of("Asia/Kolkata"))) {
            Services services = Services.on(clocked.database());
            Services.emptyTables(clocked.database());
            ExecutorService threads = Executors.newFixedThreadPool(2);
            try {
                LockService mine = service(services);
                LockService theirs = service(services);
                LockHandle held = mine.acquire(LockRequest.of("held").waitAtMost(SOON));
                // So that each service has read the clock before.
                assertThat(theirs.tryAcquire(LockRequest.of("held"))).isEmpty();
                Future<Boolean> first = threads.submit(() -> holdAgainAndAgain(mine));
                Future<Boolean> second = threads.submit(() -> holdAgainAndAgain(theirs));
                awaitMoreGrants();

                clocked.set(LocalDateTime.now(ZoneOffset.UTC).plusMinutes(1));
                assertThat(theirs.tryAcquire(LockRequest.of("held"))).isEmpty();
                awaitMoreGrants();
                assertStaysHeld(held, theirs);
                clocked.set(LocalDateTime.now(ZoneOffset.UTC));
                awaitMoreGrants();
                assertStaysHeld(held, theirs);

                isOver.set(true);
                assertThat(first.get(120, TimeUnit.SECONDS)).isTrue();
                assertThat(second.get(120, TimeUnit.SECONDS)).isTrue();
                assertThat(overlaps).hasValue(0);
                assertThat(losses).isEmpty();
                held.close();
            } finally {
                isOver.set(true);
                threads.shutdown();
                services.close();
            }
        }
    }

    private LockService service(Services services) {
        return services.build(builder -> builder.nodeLease(NODE_LEASE).listener(new LockListener() {
            @Override
            public void lost(LockLost lost) {
                losses.add(lost);
            }
        }));
    }

    private void assertStaysHeld(LockHandle held, LockService theirs) {
        await().during(NODE_LEASE.plusSeconds(2))
                .atMost(SOON)
                .until(() -> losses.isEmpty()
                        && held.state() == LockState.HELD
                        && theirs.tryAcquire(LockRequest.of("held")).isEmpty());
    }

    private void awaitMoreGrants() {
        int before = grants.get();
        await().atMost(SOON).until(() -> grants.get() > before + 20);
    }

    private boolean holdAgainAndAgain(LockService service) throws InterruptedException {
        while (!isOver.get()) {
            try (LockHandle unused = service.acquire(LockRequest.of("in turn").waitAtMost(SOON))) {
                if (holders.incrementAndGet() > 1) {
                    overlaps.incrementAndGet();
                }
                LockSupport.parkNanos(ofMillis(2).toNanos());
                holders.decrementAndGet();
                grants.incrementAndGet();
            } catch (HoldfastException refused) {
                // The server was busy with its clock.
                LockSupport.parkNanos(ofMillis(50).toNanos());
            }
        }
        return true;
    }
}
