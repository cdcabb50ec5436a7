package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.clusters.Call.Outcome;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Somebody else than the lock service ends a commit's wait for the synchronous standby of PostgreSQL: an administrator. */
@Tag("cluster")
class CancelledWaitTest {

    private static final Duration SOON = ofSeconds(30);

    private static final LockRequest REQUEST = LockRequest.of("lock").lease(ofMinutes(10));

    @Test
    void aGrantWhoseWaitForTheStandbyIsCancelledByAnAdministratorIsNotBelieved() throws Exception {
        try (PostgresPair servers = PostgresPair.start();
                Application first = Application.on(servers.url(), settings -> settings)) {
            first.locks().acquire(REQUEST).close();
            servers.loseStandby();
            Call<LockHandle> grant = Call.start("acquire", () -> first.locks().acquire(REQUEST.waitAtMost(SOON)));
            await().pollInterval(ofMillis(20))
                    .atMost(SOON)
                    .until(() -> servers.primary()
                                    .count(
                                            "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
                            > 0);
            Call.awaitEnds(ofSeconds(3), grant);
            servers.failOver();
            try (Application second = Application.on(servers.url(), settings -> settings)) {
                Outcome<LockHandle> end = grant.awaitOutcome(SOON);
                LockHandle believed = end.value();
                if (believed == null || believed.state() != LockState.HELD) {
                    second.locks().acquire(REQUEST.waitAtMost(SOON)).close();
                } else {
                    assertThat(second.locks().tryAcquire(REQUEST))
                            .as("while %s is held", believed)
                            .isEmpty();
                }
            }
        }
    }
}
