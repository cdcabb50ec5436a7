package io.github.holdfast.clusters;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The primary of a group of MySQL is killed, and another member becomes the primary. */
@Tag("cluster")
@Tag("nightly")
class GroupFailoverTest {

    private static final Duration NODE_LEASE = ofMinutes(1);

    /** For as long as the node lease, a lock that lives with its node is safe. */
    @Test
    void locksGoOnWhenThePrimaryIsKilledAndTheUrlSaysThatTheNextOneWrites() throws Exception {
        try (MysqlGroup group = MysqlGroup.start();
                Application application = application(group, "&failOverReadOnly=false")) {
            LockHandle beating = application.locks().acquire(LockRequest.of("heartbeat"));
            LockHandle leased =
                    application.locks().acquire(LockRequest.of("lease").lease(ofMinutes(10)));
            application.locks().acquire(LockRequest.of("free")).close();
            long start = System.nanoTime();
            group.member(0).kill();

            LockHandle next = acquired(application);
            System.out.printf("Group Replication: granted %.1f s after the kill%n", (System.nanoTime() - start) / 1e9);
            assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
            leased.renew(ofMinutes(20));
            assertThat(leased.release()).isEqualTo(ReleaseOutcome.RELEASED);
            assertThat(beating.state()).isNotEqualTo(LockState.LOST);
            assertThat(beating.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    /** Who asks again: the wait time of one call is less than the failover takes. */
    private static LockHandle acquired(Application application) throws InterruptedException {
        long deadline = System.nanoTime() + ofSeconds(90).toNanos();
        while (true) {
            try {
                return application.locks().acquire(LockRequest.of("free").waitAtMost(ofSeconds(60)));
            } catch (LockStoreException failed) {
                if (System.nanoTime() > deadline) {
                    throw failed;
                }
            }
        }
    }

    /** Connector/J lets nobody write on a server that is not the first of the list, unless told to. */
    @Test
    void nothingIsGrantedWhenThePrimaryIsKilledAndTheUrlSaysNothing() throws Exception {
        try (MysqlGroup group = MysqlGroup.start();
                Application application = application(group, "")) {
            application.locks().acquire(LockRequest.of("free")).close();
            group.member(0).kill();
            group.awaitPrimary(group.member(1));
            assertThatExceptionOfType(LockStoreException.class)
                    .isThrownBy(() ->
                            application.locks().acquire(LockRequest.of("free").waitAtMost(ofSeconds(5))));
        }
    }

    private static Application application(MysqlGroup group, String options) {
        return Application.on(MysqlGroup.url(group.hosts(), options), settings -> settings.nodeLease(NODE_LEASE));
    }
}
