package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link HandOffContract} on databases: also what it costs, and what becomes of a write without an answer. */
@OnEachDatabase
class HandOffTest extends HandOffContract {

    private final Services onDatabase;
    private final FaultyDataSource faults;
    private final CountingDataSource counting;

    HandOffTest(Database database) {
        onDatabase = Services.on(database);
        faults = new FaultyDataSource(database.dataSource());
        counting = new CountingDataSource(faults);
    }

    @Override
    TestServices services() {
        return onDatabase;
    }

    @Override
    LockService mine() {
        return onDatabase.patientlyOpenOver(counting);
    }

    @Override
    LockService timed() {
        return onDatabase.build(onDatabase.patientPoolOver(counting), builder -> builder.adjusted(ticker.inSettings()));
    }

    @AfterEach
    void repair() {
        faults.disarm();
    }

    @Test
    void theNextOneIsGrantedTheLockByTheOneWriteOfTheRelease() throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        counting.reset();
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        LockHandle second = next.lock();
        assertThat(counting.sql()).hasSize(1);
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
        assertThat(second.owner())
                .isNotEqualTo(first.owner())
                .isEqualTo(row(second).owner());
        assertThat(row(second).fencingToken()).isEqualTo(second.fencingToken());
        assertThat(second.state()).isEqualTo(LockState.HELD);
        assertThat(first.state()).isEqualTo(LockState.RELEASED);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).isEmpty();
        assertFreeAfter(second);
    }

    @Test
    void whoWaitsForThisProcessAsksTheDatabaseNothing() throws Exception {
        LockRequest request = request();
        try (LockHandle held = mine.acquire(request)) {
            HandOffThread next = waiting(request.waitAtMost(ofSeconds(5)));
            counting.reset();
            assertThatExceptionOfType(ExecutionException.class)
                    .isThrownBy(next::lock)
                    .withCauseInstanceOf(LockNotAcquiredException.class);
            assertThat(counting.sql())
                    .as("the last look, which tells who holds it")
                    .hasSize(1);
            assertThat(held.state()).isEqualTo(LockState.HELD);
        }
        theirs.tryAcquire(LockRequest.of(request.name())).orElseThrow().close();
    }

    @Test
    void theLockStaysInThisProcessWhileNoOtherNodeWaits() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        ticker.advance(ofSeconds(1));
        counting.reset();
        first.close();
        LockHandle second = next.lock();
        assertThat(counting.sql()).as("whether others wait, and the grant").hasSize(2);
        assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
        HandOffThread last = waiting(timed, request);
        ticker.advance(ofMillis(999));
        counting.reset();
        second.close();
        LockHandle third = last.lock();
        assertThat(counting.sql()).as("the grant alone").hasSize(1);
        ticker.advance(ofSeconds(5));
        counting.reset();
        third.close();
        assertThat(counting.sql()).as("nobody waits here").hasSize(1);
    }

    @Test
    void afterTenSecondsTheLockIsOfferedAlthoughNobodySaysThatHeWaits() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        ticker.advance(ofSeconds(10));
        counting.reset();
        first.close();
        assertThat(counting.sql()).as("the row is freed").hasSize(1);
        assertOfferedToOthersBefore(next, request);
    }

    @Test
    void ifTheDatabaseDoesNotTellWhoWaitsTheLockIsOffered() throws Exception {
        LockService timed = timed();
        LockRequest request = request();
        LockHandle first = timed.acquire(request);
        HandOffThread next = waiting(timed, request);
        ticker.advance(ofSeconds(1));
        faults.arm(1, Fault.BEFORE_SEND);
        assertThat(first.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(faults.fired()).isTrue();
        assertOfferedToOthersBefore(next, request);
    }

    private void assertOfferedToOthersBefore(HandOffThread next, LockRequest request) throws Exception {
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).hasValueSatisfying(LockHandle::close);
        ticker.advance(ofSeconds(1));
        assertFreeAfter(next.lock());
    }

    @ParameterizedTest
    @EnumSource(Fault.class)
    void withoutAnAnswerTheNextOneHasTheLockOnceAndNobodyElse(Fault fault) throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        faults.arm(1, fault);
        assertThat(first.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        assertThat(faults.fired()).isTrue();
        faults.disarm();
        if (fault == Fault.DELAYED) {
            faults.land();
        }
        LockHandle second = next.lock();
        assertThat(second.holdCount()).isEqualTo(1);
        assertThat(row(second).owner()).isEqualTo(second.owner());
        assertThat(row(second).fencingToken()).isEqualTo(second.fencingToken()).isGreaterThan(first.fencingToken());
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).isEmpty();
        assertFreeAfter(second);
    }
}
