package io.github.holdfast.clusters;

import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.clusters.Call.Outcome;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;

/** The standby that each commit waits for is away for a while and comes back: everything goes on, and nothing stays held. */
@TestInstance(Lifecycle.PER_CLASS) // One outage, which all tests look at.
abstract class StandbyReturnsContract {

    private static final Duration LONG_LEASE = ofMinutes(10);
    private static final Duration WAIT = ofSeconds(3);
    private static final Duration SOON = ofSeconds(30);

    private final ReplicatedPair servers;
    private final Application first;
    private final Application second;
    private final LockHandle released;
    private final LockHandle renewed;

    private @Nullable Call<LockHandle> patient;
    private @Nullable Call<LockHandle> creation;
    private @Nullable Call<LockHandle> grant;
    private @Nullable Call<LockHandle> handOver;
    private @Nullable Call<ReleaseOutcome> release;

    StandbyReturnsContract(ReplicatedPair servers) {
        this.servers = servers;
        first = application();
        second = application();
        released = acquire("release");
        renewed = acquire("renewal");
    }

    private Application application() {
        return Application.on(servers.url(), settings -> settings);
    }

    private LockHandle acquire(String name) {
        return first.locks().tryAcquire(LockRequest.of(name).lease(LONG_LEASE)).orElseThrow();
    }

    private Call<LockHandle> acquiring(String name, Duration wait) {
        LockRequest request = LockRequest.of(name).lease(LONG_LEASE).waitAtMost(wait);
        return Call.start("acquire " + name, () -> first.locks().acquire(request));
    }

    @BeforeAll
    void takeTheStandbyAwayForAWhile() throws InterruptedException {
        acquire("patient").release();
        acquire("grant").release();
        LockHandle passedOn = acquire("hand-over");
        handOver = acquiring("hand-over", WAIT);
        await().atMost(SOON).until(() -> first.locks().admin().waiting() == 1);
        servers.loseStandby();

        patient = acquiring("patient", ofMinutes(1));
        creation = acquiring("creation", WAIT);
        grant = acquiring("grant", WAIT);
        release = Call.start("release", released::release);
        Call<?> renewal = Call.start("renew", () -> {
            renewed.renew(LONG_LEASE);
            return renewed;
        });
        Call<?> passing = Call.start("pass on", passedOn::release);
        Call.awaitEnds(ofSeconds(10), creation, grant, release, renewal, passing, handOver);

        servers.bringStandbyBack();
        Call.awaitEnds(SOON, patient, creation, grant, release, renewal, passing, handOver);
    }

    @AfterAll
    void close() {
        first.close();
        second.close();
        servers.close();
    }

    @Test
    void whoWaitsForLongerIsGrantedTheLock() throws InterruptedException {
        LockHandle held = Objects.requireNonNull(endOf(patient).value());
        assertThat(held.state()).isEqualTo(LockState.HELD);
        assertThat(second.locks().tryAcquire(LockRequest.of("patient"))).isEmpty();
        assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertIsFree("patient");
    }

    @Test
    void aGrantThatTheStandbyHadTooLateIsGivenBack() throws InterruptedException {
        assertIsFreeOrHeld("grant", endOf(grant));
    }

    @Test
    void theFirstGrantOfANameThatTheStandbyHadTooLateIsGivenBack() throws InterruptedException {
        assertIsFreeOrHeld("creation", endOf(creation));
    }

    @Test
    void aLockThatWasPassedOnTooLateIsGivenBack() throws InterruptedException {
        assertIsFreeOrHeld("hand-over", endOf(handOver));
    }

    @Test
    void aReleaseWithoutAnAnswerIsMadeGood() throws InterruptedException {
        assertThat(endOf(release).value()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertIsFree("release");
    }

    @Test
    void aLockWhoseRenewalHadNoAnswerIsStillHeld() throws InterruptedException {
        assertThat(renewed.state()).isEqualTo(LockState.HELD);
        renewed.renew(LONG_LEASE);
        assertThat(renewed.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertIsFree("renewal");
    }

    private static <T> Outcome<T> endOf(@Nullable Call<T> call) {
        return Objects.requireNonNull(call).outcome();
    }

    /** Whether it was too late depends on the moment; one that was granted is its holder's alone. */
    private void assertIsFreeOrHeld(String name, Outcome<LockHandle> end) throws InterruptedException {
        LockHandle held = end.value();
        if (held != null) {
            assertThat(second.locks().tryAcquire(LockRequest.of(name))).isEmpty();
            assertThat(held.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        assertIsFree(name);
    }

    private void assertIsFree(String name) throws InterruptedException {
        second.locks().acquire(LockRequest.of(name).waitAtMost(SOON)).close();
    }
}
