package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Another server writes now, and the one that a pool's connections lead to only reads. What is asked for meanwhile fails; as soon as new
 * connections lead to the other one, everything goes on.
 */
@Tag("cluster")
class SwitchOverTest {

    private static final Duration SOON = ofSeconds(60);

    @Test
    void locksGoOnWhenThePrimaryHasBecomeAStandby() throws Exception {
        try (PostgresPair servers = PostgresPair.start();
                Proxy proxy = Proxy.to(servers.primary().url());
                Application application = Application.on(proxy.url(), settings -> settings);
                Application waiting = Application.on(proxy.url(), settings -> settings)) {
            Holder holder = new Holder(application.locks(), waiting.locks());
            servers.primary().stop();
            servers.primary().follow(servers.standby());
            servers.primary().start();
            holder.assertNothingIsGranted();

            servers.standby().promote();
            proxy.leadTo(servers.standby().port());
            holder.assertAllGoesOn();
        }
    }

    @Test
    void locksGoOnWhenAnotherMemberOfAGroupIsThePrimary() throws Exception {
        try (MysqlGroup group = MysqlGroup.start();
                Proxy proxy = Proxy.to(MysqlGroup.url(group.member(0).address(), ""));
                Application application = Application.on(proxy.url(), settings -> settings);
                Application waiting = Application.on(proxy.url(), settings -> settings)) {
            Holder holder = new Holder(application.locks(), waiting.locks());
            group.switchOver(group.member(0), group.member(1));
            holder.assertNothingIsGranted();

            group.awaitPrimary(group.member(1));
            proxy.leadTo(group.member(1).port());
            holder.assertAllGoesOn();
        }
    }

    /** Holds locks of each kind, while a thread of another service waits for one of them. */
    private static final class Holder {

        private final LockService locks;
        private final LockHandle beating;
        private final LockHandle leased;
        private final LockHandle released;
        private final CompletableFuture<ReleaseOutcome> served;

        Holder(LockService locks, LockService waiting) {
            this.locks = locks;
            beating = acquire(LockRequest.of("heartbeat"));
            leased = acquire(LockRequest.of("lease").lease(ofMinutes(10)));
            released = acquire(LockRequest.of("release").lease(ofMinutes(10)));
            // So that the row is there.
            acquire(LockRequest.of("free")).close();
            served = CompletableFuture.supplyAsync(() -> release(waiting));
            await().atMost(SOON).until(() -> waiting.admin().waiting() == 1);
        }

        private static ReleaseOutcome release(LockService waiting) {
            try {
                return waiting.acquire(LockRequest.of("heartbeat").waitAtMost(ofMinutes(5)))
                        .release();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        private LockHandle acquire(LockRequest request) {
            return locks.tryAcquire(request).orElseThrow();
        }

        void assertNothingIsGranted() {
            assertThat(triesToAcquire("free", ofSeconds(2))).isFalse();
            // More connections than one, as a pool has.
            assertThat(released.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        }

        void assertAllGoesOn() {
            await().atMost(SOON).pollInterval(ofMillis(100)).until(() -> triesToAcquire("free", ofSeconds(1)));
            await().atMost(SOON)
                    .ignoreExceptions()
                    .untilAsserted(() -> assertThat(locks.find("release")).isEmpty());
            leased.renew(ofMinutes(20));
            assertThat(leased.release()).isEqualTo(ReleaseOutcome.RELEASED);
            // Through more than one heartbeat.
            await().atMost(SOON).until(() -> beating.remaining().compareTo(ofSeconds(25)) > 0);
            assertThat(beating.state()).isEqualTo(LockState.HELD);
            assertThat(beating.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(served).succeedsWithin(SOON).isEqualTo(ReleaseOutcome.RELEASED);
        }

        private boolean triesToAcquire(String name, Duration wait) {
            try (LockHandle lock = locks.acquire(LockRequest.of(name).waitAtMost(wait))) {
                return lock.state() == LockState.HELD;
            } catch (LockNotAcquiredException | LockStoreException notYet) {
                return false;
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
