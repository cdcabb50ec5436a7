package io.github.holdfast.clusters;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.clusters.Call.Outcome;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/**
 * The standby that each commit waits for is away while locks are acquired, passed on, renewed and released; then the primary crashes, and the
 * standby, which has nothing of that, takes its place. Nobody may believe in what only the primary had.
 *
 * <p>A cancelled wait for the standby is no failure for PostgreSQL: it answers as if the commit were done, with a warning
 * (<a href="https://www.postgresql.org/docs/current/warm-standby.html#SYNCHRONOUS-REPLICATION">synchronous replication</a>), and MariaDB does
 * the same without one. In MySQL a cancellation changes nothing: the commit goes on waiting.
 */
@TestInstance(Lifecycle.PER_CLASS) // One failover, which all tests look at.
abstract class StandbyLostContract {

    private static final Duration NODE_LEASE = ofSeconds(6);
    private static final Duration SHORT_LEASE = ofSeconds(10);
    private static final Duration LONG_LEASE = ofMinutes(10);
    private static final Duration WAIT = ofSeconds(3);

    /** By how much a call may exceed its wait time. */
    private static final Duration EXCESS = ofSeconds(7);

    /** Within that, all that has no holder is granted after the failover. */
    private static final Duration SOON = ofSeconds(30);

    private final ReplicatedPair servers;
    private final Application first;
    private final Application newcomer;
    private @Nullable Application second;

    private final LockHandle renewed;
    private final LockHandle released;
    private final LockHandle forced;
    private final LockHandle beating;

    private @Nullable Call<LockHandle> grant;
    private @Nullable Call<LockHandle> handOver;
    private @Nullable Call<LockHandle> creation;
    private @Nullable Call<LockHandle> registration;
    private @Nullable Call<ReleaseOutcome> release;
    private @Nullable Call<Duration> renewal;
    private @Nullable Call<Optional<LockInfo>> forcedRelease;

    StandbyLostContract(ReplicatedPair servers) {
        this.servers = servers;
        first = application();
        newcomer = application();
        renewed = acquire("renewal", SHORT_LEASE);
        released = acquire("release", LONG_LEASE);
        forced = acquire("forced", LONG_LEASE);
        beating = acquire(LockRequest.of("heartbeat"));
    }

    private Application application() {
        return Application.on(servers.url(), settings -> settings.nodeLease(NODE_LEASE));
    }

    private LockHandle acquire(String name, Duration lease) {
        return acquire(LockRequest.of(name).lease(lease));
    }

    private LockHandle acquire(LockRequest request) {
        return first.locks().tryAcquire(request).orElseThrow();
    }

    private Call<LockHandle> acquiring(Application application, LockRequest request) {
        return Call.start("acquire " + request.name(), () -> application.locks().acquire(request));
    }

    private static LockRequest longLease(String name) {
        return LockRequest.of(name).lease(LONG_LEASE).waitAtMost(WAIT);
    }

    @BeforeAll
    void failOver() throws InterruptedException {
        acquire("grant", LONG_LEASE).release();
        LockHandle passedOn = acquire("hand-over", SHORT_LEASE);
        handOver = acquiring(first, longLease("hand-over").waitAtMost(ofSeconds(8)));
        await().atMost(SOON).until(() -> first.locks().admin().waiting() == 1);
        servers.loseStandby();

        grant = acquiring(first, longLease("grant"));
        creation = acquiring(first, longLease("creation"));
        registration = acquiring(newcomer, LockRequest.of("registration").waitAtMost(WAIT));
        release = Call.start("release", released::release);
        renewal = Call.start("renew", () -> {
            renewed.renew(LONG_LEASE);
            return renewed.remaining();
        });
        forcedRelease = Call.start("forced release", () -> first.locks().admin().forceRelease("forced", "a test"));
        Call<ReleaseOutcome> passing = Call.start("pass on", passedOn::release);
        Call.awaitEnds(
                ofSeconds(15), grant, creation, registration, release, renewal, forcedRelease, passing, handOver);

        servers.failOver();
        second = application();
    }

    @AfterAll
    void close() {
        // With a server still there: a service that is closed gives back what it holds.
        for (Application application : new Application[] {first, newcomer, second}) {
            if (application != null) {
                application.close();
            }
        }
        servers.close();
    }

    @Test
    void aGrantThatTheStandbyDoesNotHaveIsNotBelieved() throws InterruptedException {
        assertSecondIsGrantedWhatNobodyHolds("grant", endOf(grant));
    }

    @Test
    void aLockThatWasPassedOnWithoutTheStandbyIsNotBelieved() throws InterruptedException {
        assertSecondIsGrantedWhatNobodyHolds("hand-over", endOf(handOver));
    }

    @Test
    void theFirstGrantOfANameEndsWithItsWaitTime() throws InterruptedException {
        Outcome<LockHandle> end = endOf(creation);
        assertThat(end.took()).isLessThan(WAIT.plus(EXCESS));
        assertSecondIsGrantedWhatNobodyHolds("creation", end);
    }

    @Test
    void theFirstGrantThroughANodeEndsWithItsWaitTime() throws InterruptedException {
        Outcome<LockHandle> end = endOf(registration);
        assertThat(end.took()).isLessThan(WAIT.plus(EXCESS));
        assertSecondIsGrantedWhatNobodyHolds("registration", end);
    }

    @Test
    void aReleaseThatTheStandbyDoesNotHaveIsRepeated() throws InterruptedException {
        assertReleaseIsUnresolved();
        assertThat(grantedToSecond("release")).isGreaterThan(released.fencingToken());
    }

    void assertReleaseIsUnresolved() {
        assertThat(endOf(release).value()).isEqualTo(ReleaseOutcome.UNRESOLVED);
    }

    @Test
    void aRenewalThatTheStandbyDoesNotHaveIsNotBelieved() throws InterruptedException {
        Outcome<Duration> end = endOf(renewal);
        assertThat(end.failure()).isInstanceOf(LockStoreException.class);
        assertThat(end.took()).isLessThan(WAIT.plus(EXCESS));
        assertThat(grantedToSecond("renewal")).isGreaterThan(renewed.fencingToken());
        assertThat(renewed.state()).isEqualTo(LockState.LOST);
    }

    @Test
    void aHeartbeatThatTheStandbyDoesNotHaveIsNotBelieved() throws InterruptedException {
        assertThat(beating.state()).isEqualTo(LockState.LOST);
        assertThat(grantedToSecond("heartbeat")).isGreaterThan(beating.fencingToken());
    }

    @Test
    void aForcedReleaseThatTheStandbyDoesNotHaveFails() {
        assertThat(endOf(forcedRelease).failure()).isInstanceOf(LockStoreException.class);
        // What became of it, the promoted standby alone knows.
        assertThat(secondService().find("forced").map(LockInfo::fencingToken)).hasValue(forced.fencingToken());
    }

    private static <T> Outcome<T> endOf(@Nullable Call<T> call) {
        return Objects.requireNonNull(call).outcome();
    }

    /** Who is slow may be granted the lock after the failover, and by what is the primary then: it is his alone. */
    private void assertSecondIsGrantedWhatNobodyHolds(String name, Outcome<LockHandle> end)
            throws InterruptedException {
        LockHandle believed = end.value();
        try {
            long token = grantedToSecond(name);
            if (believed != null) {
                assertThat(believed.state())
                        .as("of %s, after %s", believed, end.took())
                        .isNotEqualTo(LockState.HELD);
                assertThat(believed.fencingToken()).isNotEqualTo(token);
            }
        } catch (LockNotAcquiredException isHeld) {
            if (believed == null) {
                throw isHeld;
            }
            assertThat(secondService().find(name).map(LockInfo::fencingToken)).hasValue(believed.fencingToken());
        }
    }

    private long grantedToSecond(String name) throws InterruptedException {
        return secondService()
                .acquire(LockRequest.of(name).lease(LONG_LEASE).waitAtMost(SOON))
                .fencingToken();
    }

    private LockService secondService() {
        return Objects.requireNonNull(second).locks();
    }
}
