package io.github.holdfast.faults;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.faults.Verdict.Violation;
import org.junit.jupiter.api.Test;

/** What the checker makes of services that are closed, of row locks that follow each other, and of what is left. */
class EndOfWorkTest {

    private static final double CALM = 100;

    private final Recording recording = new Recording();

    private void assertBroken(Promise... promises) {
        Verdict verdict = new HistoryChecker(ofSeconds(3)).judge(recording.calmAt(CALM));
        assertThat(verdict.violations().stream().map(Violation::promise)).containsExactly(promises);
        assertThat(verdict.exempted()).isEmpty();
    }

    private void closed(int worker, double from, double to) {
        recording.add(worker, Action.CLOSE, Phase.OK, from, to, facts -> facts);
    }

    @Test
    void aBeliefEndsWhenItsServiceBeginsToClose() {
        recording.acquired(1, 1, 0, 1, 50);
        closed(1, 3, 8);
        recording.acquired(2, 2, 2, 3, 4);
        assertBroken();
    }

    @Test
    void whatIsGrantedWhileTheServiceIsBeingClosedIsNotBelieved() {
        recording.acquired(1, 1, 0, 4, 50);
        closed(1, 3, 8);
        recording.acquired(2, 2, 2, 5, 6);
        assertBroken();
    }

    @Test
    void aServiceThatIsKilledWhileItIsBeingClosedNoLongerBelieves() {
        recording
                .acquired(1, 1, 0, 1, 50)
                .neverEnds(1, Action.CLOSE, 3, facts -> facts)
                .add(1, Action.KILL, Phase.OK, 9, 9, facts -> facts)
                .acquired(2, 2, 2, 3, 6);
        assertBroken();
    }

    @Test
    void whatWasBelievedBeforeTheServiceWasClosedCounts() {
        recording.acquired(1, 1, 0, 1, 50);
        closed(1, 3, 8);
        recording.acquired(2, 2, 1, 2, 4);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void closingAnotherServiceEndsNothing() {
        recording.acquired(1, 1, 0, 1, 50);
        closed(3, 2, 2.5);
        recording.acquired(2, 2, 2, 3, 4);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aRowLockIsNotTakenForTheNextOneOfItsWorker() {
        recording
                .add(1, Action.ROW_ACQUIRE, Phase.OK, 1, 1.5, facts -> facts.token(1))
                .add(1, Action.ROW_ACQUIRE, Phase.OK, 1, 5.1, facts -> facts.token(2))
                .add(1, Action.ROW_RELEASE, Phase.OK, 5, 5.2, facts -> facts.token(1))
                .add(1, Action.ROW_RELEASE, Phase.OK, 7, 7.2, facts -> facts.token(2))
                .acquired(2, 2, 3, 4, 4.5)
                .acquired(3, 3, 5, 6, 6.5);
        assertBroken(Promise.ONE_HOLDER, Promise.ONE_HOLDER);
    }

    @Test
    void whatAWorkerHasLeft() {
        recording
                .add(1, Action.LEFT, Phase.FAIL, CALM, CALM, facts -> facts.owner("a thread"))
                .neverEnds(2, Action.LEFT, CALM, facts -> facts)
                .add(3, Action.LEFT, Phase.OK, CALM, CALM, facts -> facts);
        assertBroken(Promise.NOTHING_LEAKED, Promise.NOTHING_LEAKED);
    }

    @Test
    void aPlaceAtWhichNobodyWaits() {
        recording
                .add(0, Action.PLACE, Phase.OK, CALM, CALM, facts -> facts.node("alive"))
                .add(0, Action.PLACE, Phase.FAIL, CALM, CALM, facts -> facts.node("dead"));
        assertBroken(Promise.NOTHING_LEAKED, Promise.NOTHING_LEFT_BY_THE_DEAD);
    }
}
