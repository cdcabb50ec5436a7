package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.List;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Another machine becomes the database, whose clock is ahead. That is the same as if all instants in the tables were earlier by so
 * much, which can be done here on every database and to the millisecond.
 */
@Tag("outage")
@OnEachDatabase
class ClockStepTest {

    private static final Duration TOLERANCE = ofSeconds(2);

    /** By how much the clocks of the two machines differ. */
    private static final Duration AHEAD = ofMillis(1900);

    private static final Duration LEASE = ofSeconds(5);
    private static final Duration SOON = ofSeconds(60);

    private Database database;
    private Services services;
    private FaultyDataSource faults;

    @BeforeEach
    void open(Database onDatabase) {
        database = onDatabase;
        services = Services.on(database);
        faults = new FaultyDataSource(database.dataSource());
    }

    @AfterEach
    void close() throws Exception {
        faults.up();
        services.close();
    }

    private static UnaryOperator<LockServiceBuilder> tolerating(Duration tolerance) {
        return builder -> builder.clockTolerance(tolerance).nodeLease(LEASE).withoutHousekeeping();
    }

    private LockService mine(Duration tolerance) {
        return services.build(services.poolOver(faults), tolerating(tolerance));
    }

    private LockService theirs(Duration tolerance) {
        return services.build(tolerating(tolerance));
    }

    private void failOverTo(Duration ahead) {
        String earlier = " - interval '" + ahead.toMillis() / 1000.0 + "' second";
        database.execute("update distributed_lock set acquired_at = acquired_at" + earlier + ", expires_at = expires_at"
                + earlier + ", available_at = available_at" + earlier);
        database.execute("update lock_node set started_at = started_at" + earlier + ", expires_at = expires_at"
                + earlier + ", waits_until = waits_until" + earlier);
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name).waitAtMost(SOON);
    }

    @Test
    void aClockThatIsAheadByLessThanTheToleranceLetsNobodyInBeforeTheHolderKnowsThatItsLeaseIsOver() throws Exception {
        LockRequest request = request("step-lease");
        LockHandle holder = mine(TOLERANCE).acquire(request.lease(LEASE));
        failOverTo(AHEAD);
        LockHandle next = theirs(TOLERANCE).acquire(request.lease(ofMinutes(1)));
        assertThat(holder.state()).isEqualTo(LockState.LOST);
        assertThat(next.fencingToken()).isGreaterThan(holder.fencingToken());
    }

    @Test
    void aClockThatIsAheadByLessThanTheToleranceLetsNobodyInBeforeTheHolderKnowsThatItsNodeIsDead() throws Exception {
        LockRequest request = request("step-node");
        LockHandle holder = mine(TOLERANCE).acquire(request);
        faults.down();
        failOverTo(AHEAD);
        LockHandle next = theirs(TOLERANCE).acquire(request);
        assertThat(holder.state()).isEqualTo(LockState.LOST);
        assertThat(next.fencingToken()).isGreaterThan(holder.fencingToken());
    }

    @Test
    void aRowLockWaitsForTheToleranceToo() throws Exception {
        LockRequest request = request("step-row");
        LockHandle holder = mine(TOLERANCE).acquire(request.lease(LEASE));
        failOverTo(AHEAD);
        LockHandle next = theirs(TOLERANCE).acquire(request.rowLock());
        assertThat(holder.state()).isEqualTo(LockState.LOST);
        next.close();
    }

    @Test
    void aTaskIsStillHeldUntilTheToleranceIsOver() throws Exception {
        Duration tolerance = ofSeconds(30);
        LockService theirs = theirs(tolerance);
        LockHandle holder = mine(tolerance).acquire(request("step-task").lease(ofMinutes(1)));
        failOverTo(ofSeconds(61));
        TaskLock task = theirs.task(TaskRequest.of("step-task").minimumHold(ofMillis(1)));
        assertThat(task.runIfDue(lock -> {})).isEqualTo(TaskOutcome.HELD);
        failOverTo(ofSeconds(28));
        await().atMost(SOON).until(() -> task.runIfDue(lock -> {}) == TaskOutcome.SUCCEEDED);
        assertThat(holder.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    /** What a user has to know: the tolerance is the limit. */
    @Test
    void aClockThatIsAheadByMoreThanTheToleranceLetsTheNextOneInWhileTheHolderBelievesInItsLease() throws Exception {
        LockRequest request = request("step-more");
        LockHandle holder = mine(ofMillis(100)).acquire(request.lease(ofMinutes(1)));
        failOverTo(ofSeconds(59));
        LockHandle next = theirs(ofMillis(100)).acquire(request);
        assertThat(holder.state()).isEqualTo(LockState.HELD);
        assertThat(next.fencingToken()).as("but its fencing token is void").isGreaterThan(holder.fencingToken());
    }

    @Test
    void betweenTheEndOfALeaseAndThatOfTheToleranceNobodyHasTheLock() throws Exception {
        LockRequest request = request("nobodys");
        LockService mine = mine(ofSeconds(30));
        LockService theirs = theirs(ofSeconds(30));
        LockHandle holder = mine.acquire(request.lease(ofMinutes(1)));
        LockHandle chosen = mine.acquire(request("chosen").owner("chosen").lease(ofMinutes(1)));
        failOverTo(ofSeconds(61));
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> holder.renew(ofMinutes(1)));
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> chosen.renew(ofMinutes(1)));
        for (LockService service : List.of(mine, theirs)) {
            assertThat(service.tryAcquire(LockRequest.of("nobodys"))).isEmpty();
            assertThat(service.tryAcquire(
                            LockRequest.of("chosen").owner("chosen").lease(LEASE)))
                    .as("the owner himself")
                    .isEmpty();
            assertThat(service.find("nobodys")).isEmpty();
        }
        assertThatExceptionOfType(LockNotAcquiredException.class)
                .isThrownBy(() -> theirs.acquire(LockRequest.of("nobodys").waitAtMost(ofMillis(10))))
                .withMessageContaining("it stays unavailable for another 2");
        failOverTo(ofSeconds(30));
        assertThat(theirs.tryAcquire(LockRequest.of("nobodys"))).isPresent();
        assertThat(theirs.tryAcquire(LockRequest.of("chosen"))).isPresent();
    }

    @Test
    void theDeadAreTidiedUpOnlyWhenTheToleranceIsOver() throws Exception {
        LockService mine = mine(ofSeconds(30));
        LockService theirs = theirs(ofSeconds(30));
        mine.acquire(request("kept"));
        faults.down();
        failOverTo(LEASE);
        assertThat(theirs.admin().housekeep().nodesEnded()).isZero();
        failOverTo(ofSeconds(31));
        assertThat(theirs.admin().housekeep().nodesEnded()).isEqualTo(1);
        assertThat(theirs.tryAcquire(LockRequest.of("kept"))).isPresent();
    }

    @Test
    void whatIsReleasedIsFreeAtOnceWhateverTheTolerance() throws Exception {
        LockService mine = mine(ofMinutes(1));
        LockService theirs = theirs(ofMinutes(1));
        mine.acquire(request("released").lease(LEASE)).close();
        assertThat(theirs.tryAcquire(LockRequest.of("released"))).isPresent();
        mine.acquire(request("closed"));
        mine.close();
        assertThat(theirs.tryAcquire(LockRequest.of("closed"))).isPresent();
    }

    @Test
    void whatIsTakenByForceIsKeptFromEverybodyForTheToleranceToo() throws Exception {
        LockHandle holder = mine(TOLERANCE).acquire(request("forced").lease(LEASE));
        LockService theirs = theirs(TOLERANCE);
        assertThat(theirs.admin().forceRelease("forced", "to test")).isPresent();
        failOverTo(AHEAD);
        LockHandle next = theirs.acquire(request("forced"));
        assertThat(holder.state()).isEqualTo(LockState.LOST);
        next.close();
    }

    @Test
    void theToleranceIsZeroToAMinute() {
        LockServiceBuilder builder = LockService.builder(services.unit(database.dataSource()));
        for (Duration wrong : List.of(ofMillis(-1), ofMinutes(1).plusNanos(1))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> builder.clockTolerance(wrong))
                    .withMessageContaining("clock tolerance");
        }
        assertThat(builder.clockTolerance(ZERO)).isSameAs(builder.clockTolerance(ofMinutes(1)));
    }
}
