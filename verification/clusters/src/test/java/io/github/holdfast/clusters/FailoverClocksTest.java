package io.github.holdfast.clusters;

import static io.github.holdfast.clusters.Contenders.SOON;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** The primary is killed while services hold locks without a lease, and the clock of the standby that takes its place is another one. */
@Tag("cluster")
class FailoverClocksTest {

    /** Less than the clocks differ, and enough for a failover. */
    private static final Duration NODE_LEASE = ofSeconds(15);

    @ParameterizedTest
    @ValueSource(strings = {"+20s", "-20s"})
    void aLockHasOneHolderWhateverTheNextClockSays(String clock) throws Exception {
        try (PostgresPair servers = PostgresPair.start(clock);
                Contenders services = new Contenders(NODE_LEASE)) {
            LockSchema.on(new DriverManagerDataSource(servers.url())).createIfMissing();
            Shop dying = services.idle(servers.url());
            LockHandle left = dying.locks().acquire(LockRequest.of("left").waitAtMost(SOON));
            Shop next = services.begin(servers.url());
            services.begin(servers.url());
            // Each service reads the clock with its first heartbeat. These have sent a second one.
            await().atMost(SOON)
                    .until(() -> servers.primary()
                                    .count(
                                            "select 1 from lock_node where expires_at > started_at + interval '24 seconds'")
                            == 3);

            services.kill(dying);
            servers.primary().kill();
            servers.standby().promote();
            int before = services.grants();
            try (LockHandle lock = next.locks().acquire(LockRequest.of("left").waitAtMost(SOON))) {
                assertThat(left.remaining()).as("the former holder's").isZero();
                assertThat(lock.fencingToken()).isGreaterThan(left.fencingToken());
            }
            await().atMost(SOON).until(() -> services.grants() > before + 100);
            services.end();
            System.out.printf("Failover to a clock %s: %s%n", clock, services);
            assertThat(services.overlaps()).isZero();
            // A service whose heartbeat came too late has said so.
            assertThat(servers.standby().count("select 1 from lock_node where ended"))
                    .isLessThanOrEqualTo(1 + services.losses().size());
        }
    }
}
