package io.github.holdfast.service;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.memory.InMemoryFaults.Unanswered;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.hold.HandOffThread;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@link HandOffContract} on the double of the store, and writes in doubt there. */
class InMemoryHandOffTest extends HandOffContract {

    /** Set before each test, when the contract opens its services. */
    @SuppressWarnings("NullAway.Init")
    private InMemoryServices inMemory;

    @Override
    TestServices services() {
        inMemory = new InMemoryServices(new FakeTicker().passingWhileCallersWait());
        return inMemory;
    }

    @Override
    LockService mine() {
        return inMemory.buildBreakable(builder -> builder);
    }

    @Override
    LockService timed() {
        return inMemory.buildBreakable(builder -> builder.adjusted(ticker.inSettings()));
    }

    private void assertHeldOnceThenFree(LockHandle first, LockHandle second) throws Exception {
        assertThat(second.holdCount()).isEqualTo(1);
        assertThat(row(second).owner()).isEqualTo(second.owner());
        assertThat(row(second).fencingToken()).isEqualTo(second.fencingToken()).isGreaterThan(first.fencingToken());
        assertThat(theirs.tryAcquire(LockRequest.of(second.name()))).isEmpty();
        assertFreeAfter(second);
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void aHandOverWithoutAnAnswerGrantsTheLockOnce(Unanswered effect) throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        inMemory.faults().leaveUnanswered("grant", effect);
        assertThat(first.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        assertThat(inMemory.faults().haveAllOccurred()).isTrue();
        inMemory.faults().arrive();
        assertHeldOnceThenFree(first, next.lock());
        inMemory.faults().arrive();
        assertThat(theirs.tryAcquire(LockRequest.of(request.name()))).hasValueSatisfying(LockHandle::close);
    }

    @ParameterizedTest
    @EnumSource(names = {"CONFLICT", "DEADLOCK", "BUSY", "UNAVAILABLE"})
    void aHandOverThatFailsIsRepeated(Failure failure) throws Exception {
        LockRequest request = request();
        LockHandle first = mine.acquire(request);
        HandOffThread next = waiting(request);
        inMemory.faults().refuse("grant", failure);
        assertThat(first.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        assertHeldOnceThenFree(first, next.lock());
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void anAcquisitionWithoutAnAnswerHasTheLockOnce(Unanswered effect) throws Exception {
        LockRequest request = request().lease(ofSeconds(60));
        LockHandle before = theirs.acquire(request);
        before.close();
        inMemory.faults().leaveUnanswered("grant", effect);
        LockHandle held = mine.acquire(request);
        assertThat(inMemory.faults().haveAllOccurred()).isTrue();
        inMemory.faults().arrive();
        assertHeldOnceThenFree(before, held);
    }

    @ParameterizedTest
    @EnumSource(Unanswered.class)
    void aReleaseWithoutAnAnswerFreesTheLock(Unanswered effect) throws Exception {
        LockRequest request = request();
        LockHandle held = mine.acquire(request);
        inMemory.faults().leaveUnanswered("release", effect);
        assertThat(held.release()).isIn(ReleaseOutcome.RELEASED, ReleaseOutcome.UNRESOLVED);
        LockHandle next = theirs.acquire(request);
        inMemory.faults().arrive();
        assertThat(row(next).owner()).isEqualTo(next.owner());
        assertThat(mine.tryAcquire(LockRequest.of(next.name()))).isEmpty();
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }
}
