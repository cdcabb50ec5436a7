package io.github.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Locks that are lost, and members that can grant none, on three databases in memory. */
@Tag("outage")
class QuorumLossTest {

    private static final Duration LONG = Duration.ofSeconds(60);

    private static List<Database> databases = List.of();
    private static Client one;
    private static Client other;

    @BeforeAll
    static void start() {
        databases = Stream.generate(() -> Database.create(TestDatabase.H2_MEMORY))
                .limit(3)
                .toList();
        one = Client.on(databases);
        other = Client.on(databases);
    }

    @AfterAll
    static void stop() {
        one.close();
        other.close();
        databases.forEach(Database::close);
    }

    @Test
    void aForcedReleaseOfAMajorityIsALoss() throws Exception {
        AtomicReference<LockLost> told = new AtomicReference<>();
        LockHandle lock = one.locks().acquire(LockRequest.of("forced"));
        lock.onLost(told::set);
        // A member that was late is granted afterwards.
        await().atMost(LONG)
                .until(() -> IntStream.range(0, 3)
                        .allMatch(member -> other.member(member).find("forced").isPresent()));
        assertThat(other.member(0).admin().forceRelease("forced", "test")).isPresent();
        await().during(Client.NODE_LEASE.dividedBy(2)).atMost(LONG).until(() -> lock.state() == LockState.HELD);
        assertThat(told).hasNullValue();

        // Perhaps the first one has been granted anew.
        for (int member = 2; member >= 0; member--) {
            other.member(member).admin().forceRelease("forced", "test");
        }

        await().atMost(LONG).until(() -> told.get() != null);
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(told.get()).extracting(LockLost::cause).isEqualTo(LossCause.FORCED);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void theCauseIsThatOfTheMembersThatAreLostNow() throws Exception {
        Duration lease = Duration.ofSeconds(4);
        LockHandle lock = one.locks().acquire(LockRequest.of("causes").lease(lease));
        awaitHeldAtAll("causes");
        databases
                .get(0)
                .execute("update distributed_lock set owner = null, node_id = null, holder = null, hold_count = 0,"
                        + " version = version + 1 where name = 'causes'");
        // The member that has forgotten it tells so, and is asked anew.
        lock.renew(lease);
        awaitHeldAtAll("causes");

        await().pollInterval(Duration.ofMillis(1)).atMost(LONG).until(() -> lock.state() == LockState.LOST);

        assertThatThrownBy(lock::close)
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.EXPIRED));
    }

    @Test
    void aForcedReleaseThatNobodyHasNoticedIsALossAtTheRelease() throws Exception {
        LockHandle lock = one.locks().acquire(LockRequest.of("forced before the release"));
        awaitHeldAtAll("forced before the release");
        for (int member : List.of(0, 2)) {
            assertThat(other.member(member).admin().forceRelease("forced before the release", "test"))
                    .isPresent();
        }

        assertThatThrownBy(lock::close)
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.FORCED));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aForcedReleaseAtOneMemberIsNoLoss() throws Exception {
        LockHandle lock = one.locks().acquire(LockRequest.of("forced at one"));
        awaitHeldAtAll("forced at one");
        // What a member grants after the decision may not have joined yet.
        int member = QuorumToken.of(lock).ofMembers().indexOf(OptionalLong.empty());
        assertThat(other.member(Math.max(member, 0)).admin().forceRelease("forced at one", "test"))
                .isPresent();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void theAcquiringThreadIsInterruptedByALossIfItWantsTo() throws Exception {
        LockRequest request = LockRequest.of("interrupt").lease(Duration.ofSeconds(2));
        LockHandle detached = one.locks().acquire(request.interruptOnLoss()).detach();
        await().atMost(LONG).until(() -> detached.state() == LockState.LOST);
        assertThat(Thread.currentThread().isInterrupted()).isFalse();
        detached.release();

        LockHandle lock = one.locks().acquire(request.interruptOnLoss());
        assertThatThrownBy(() -> Thread.sleep(LONG.toMillis())).isInstanceOf(InterruptedException.class);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aThreadThatHasLostTheLockAcquiresItAnew() throws Exception {
        LockRequest request = LockRequest.of("lost and acquired anew").lease(Duration.ofSeconds(2));
        LockHandle lost = one.locks().acquire(request);
        await().atMost(LONG).until(() -> lost.state() == LockState.LOST);

        try (LockHandle anew = one.locks().acquire(request.lease(LONG))) {
            assertThat(anew.state()).isEqualTo(LockState.HELD);
            assertThat(anew.holdCount()).isOne();
            assertThat(QuorumToken.of(lost).isOlderThan(QuorumToken.of(anew))).isTrue();
            assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST);
            try (LockHandle nested = one.locks().tryAcquire(request).orElseThrow()) {
                assertThat(nested.holdCount()).isEqualTo(2);
            }
        }
    }

    @Test
    void aMajorityOfClosedServicesEndsTheWait() throws Exception {
        try (Client closed = Client.on(databases)) {
            closed.member(2).close();
            closed.locks().acquire(LockRequest.of("one closed")).release();
            closed.member(1).close();
            assertThatThrownBy(() ->
                            closed.locks().acquire(LockRequest.of("two closed").waitForever()))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("closed");
        }
    }

    @Test
    void missingTablesAtAMajorityEndTheWait() throws Exception {
        List<Database> ofTest = Stream.generate(() -> Database.create(TestDatabase.H2_MEMORY))
                .limit(3)
                .toList();
        try (Client client = Client.on(ofTest)) {
            ofTest.get(1).execute("drop table distributed_lock");
            client.locks().acquire(LockRequest.of("one missing")).release();
            ofTest.get(2).execute("drop table distributed_lock");
            long start = System.nanoTime();
            assertThatThrownBy(() ->
                            client.locks().acquire(LockRequest.of("two missing").waitAtMost(LONG)))
                    .isInstanceOf(LockStoreException.class)
                    .hasMessageContaining("only 1 of 3 members answered")
                    .cause()
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            thrown -> assertThat(thrown.failure()).isEqualTo(StoreException.Failure.TABLE_MISSING));
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(LONG.dividedBy(2));
        } finally {
            ofTest.forEach(Database::close);
        }
    }

    private static void awaitHeldAtAll(String name) {
        await().atMost(LONG)
                .until(() -> one.members().stream()
                        .allMatch(member -> member.find(name).isPresent()));
    }
}
