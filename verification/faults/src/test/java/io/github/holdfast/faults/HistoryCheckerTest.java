package io.github.holdfast.faults;

import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.github.holdfast.faults.Verdict.Violation;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Each promise that is broken in a history is found, and nothing else. */
class HistoryCheckerTest {

    private static final double CALM = 100;

    private final Recording recording = new Recording();

    private Verdict verdict() {
        return new HistoryChecker(ofSeconds(3)).judge(recording.calmAt(CALM));
    }

    private void assertBroken(Promise... promises) {
        assertThat(verdict().violations().stream().map(Violation::promise)).containsExactly(promises);
    }

    private void assertExempted(Map<Action, Integer> by) {
        Verdict verdict = verdict();
        assertThat(verdict.violations()).isEmpty();
        assertThat(verdict.exempted()).isEqualTo(by);
    }

    @Test
    void aGoodHistoryIsGood() {
        recording
                .acquired(1, 1, 0, 1, 5)
                .reentered(1, 1, 2)
                .add(2, Action.ACQUIRE, Phase.REFUSED, 2, 2.5, facts -> facts)
                .released(1, 1, 3, 1)
                .committed(1, 1, 3.5, 1)
                .released(1, 1, 4, 0)
                .acquired(2, 2, 2, 4.2, 9)
                .valid(2, 2, 8, 12)
                .committed(2, 2, 8.5, 2)
                .lost(2, 2, 12)
                .rowLocked(1, 13, 14, Phase.OK)
                .acquired(3, 3, 5, 14, 20)
                .fault(Action.KILL, 30)
                .add(4, Action.PROBE, Phase.OK, CALM, CALM + 2, facts -> facts)
                .add(0, Action.ROW, Phase.OK, CALM + 3, CALM + 3, facts -> facts.holds(0))
                .add(0, Action.COUNTER, Phase.OK, CALM + 3, CALM + 3, facts -> facts.value(2));
        assertExempted(Map.of());
    }

    @Test
    void grantsThatWereOverBeforeThoseWithAnEarlierVersionBegan() {
        recording.acquired(1, 2, 1, 2, 3).acquired(2, 1, 5, 6, 7);
        assertBroken(Promise.ORDERED_BY_VERSION);
    }

    @Test
    void concurrentGrantsMayBeAnsweredInAnyOrder() {
        recording.acquired(1, 2, 1, 6, 7).acquired(2, 1, 1, 5, 5.5);
        assertExempted(Map.of());
    }

    @Test
    void aTokenThatIsGrantedTwice() {
        recording
                .acquired(1, 7, 0, 1, 2)
                .add(
                        2,
                        Action.ACQUIRE,
                        Phase.OK,
                        3,
                        4,
                        facts -> facts.grant(71, 7).validUntil(Recording.nanos(5)));
        assertBroken(Promise.TOKENS_INCREASE);
    }

    @Test
    void aTokenThatGoesBack() {
        recording
                .acquired(1, 7, 0, 1, 2)
                .add(
                        2,
                        Action.ACQUIRE,
                        Phase.OK,
                        3,
                        4,
                        facts -> facts.grant(71, 6).validUntil(Recording.nanos(5)));
        assertBroken(Promise.TOKENS_INCREASE);
    }

    @Test
    void tokensOfRowsThatWereDeletedByHandStartANewEpoch() {
        recording
                .acquired(1, 7, 0, 1, 2)
                .fault(Action.DELETE_ROWS, 2.5)
                .add(
                        2,
                        Action.ACQUIRE,
                        Phase.OK,
                        3,
                        4,
                        facts -> facts.grant(71, 6).validUntil(Recording.nanos(5)));
        assertExempted(Map.of(Action.DELETE_ROWS, 1));
    }

    @Test
    void thoseWhoShareALockMayOverlap() {
        recording
                .shared(1, 101, 0, 5)
                .shared(1, 102, 1, 6)
                .shared(2, 201, 2, 9)
                .add(2, Action.SHARE_RELEASE, Phase.OK, 4, 4.1, facts -> facts.token(201))
                .add(1, Action.SHARE_LOOK, Phase.FAIL, 3, 3.1, facts -> facts.token(102))
                .acquired(3, 7, 4.5, 5.5, 8);
        assertExempted(Map.of());
    }

    @Test
    void anExclusiveGrantBesideAShare() {
        recording.shared(1, 101, 0, 5).shared(1, 102, 1, 6).acquired(3, 7, 5, 5.5, 8);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aShareBesideAnExclusiveGrant() {
        recording.acquired(3, 7, 0, 1, 4).shared(1, 101, 3, 5);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aShareThatIsProlonged() {
        recording
                .shared(1, 101, 0, 5)
                .add(
                        1,
                        Action.SHARE_LOOK,
                        Phase.OK,
                        4,
                        4,
                        facts -> facts.token(101).validUntil(Recording.nanos(9)))
                .acquired(3, 7, 7, 8, 8.5);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void whatIsReadUnderAShareChanges() {
        recording
                .add(1, Action.READ, Phase.OK, 0, 1, facts -> facts.holds(4).value(4))
                .add(1, Action.READ, Phase.FAIL, 1, 2, facts -> facts.holds(4).value(5))
                .add(1, Action.READ, Phase.OK, 2, 3, facts -> facts.holds(5).value(6));
        assertBroken(Promise.READ_UNCHANGED);
    }

    @Test
    void whatIsReadMayChangeIfTheRowOfTheLockWasDeleted() {
        recording
                .shared(1, 101, 0, 5)
                .fault(Action.DELETE_ROWS, 1)
                .add(
                        1,
                        Action.READ,
                        Phase.OK,
                        2,
                        3,
                        facts -> facts.token(101).holds(5).value(6));
        assertExempted(Map.of(Action.DELETE_ROWS, 1));
    }

    @Test
    void aShareThatJoinedOneWhoseLockWasDeletedIsExemptedLikeThat() {
        recording
                .sharedBy("row-1", 1, 101, 0, 5)
                .fault(Action.DELETE_ROWS, 1)
                .acquired(2, 7, 2, 3, 9)
                .sharedBy("row-1", 1, 102, 4, 8)
                .add(
                        1,
                        Action.READ,
                        Phase.OK,
                        6,
                        7,
                        facts -> facts.token(102).holds(5).value(6));
        assertExempted(Map.of(Action.DELETE_ROWS, 3));
    }

    @Test
    void aShareOfItsOwnAfterADeletionIsNotExempted() {
        recording
                .sharedBy("row-1", 1, 101, 0, 3)
                .fault(Action.DELETE_ROWS, 1)
                .acquired(2, 7, 3, 4, 9)
                .sharedBy("row-2", 1, 102, 5, 8);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aShareOfAnotherWorkerIsNotExemptedThoughItsRowHasTheSameOwner() {
        recording
                .sharedBy("row-1", 1, 101, 0, 3)
                .fault(Action.DELETE_ROWS, 1)
                .acquired(2, 7, 3, 4, 9)
                .sharedBy("row-1", 3, 301, 5, 8);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aShareThatJoinedOneThatWasReleasedByForceIsNotExempted() {
        recording
                .sharedBy("row-1", 1, 101, 0, 3)
                .fault(Action.FORCE_RELEASE, 1)
                .acquired(2, 7, 3, 4, 9)
                .sharedBy("row-1", 1, 102, 5, 8);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aShareThatNobodyHasIsLeft() {
        recording.add(0, Action.SHARE_ROW, Phase.FAIL, CALM + 3, CALM + 3, facts -> facts.token(4));
        assertBroken(Promise.NOTHING_LEFT_BY_THE_DEAD);
    }

    @Test
    void tokensMayNotGoBackBecauseALockWasReleasedByForce() {
        recording
                .acquired(1, 7, 0, 1, 2)
                .fault(Action.FORCE_RELEASE, 2.5)
                .add(
                        2,
                        Action.ACQUIRE,
                        Phase.OK,
                        3,
                        4,
                        facts -> facts.grant(71, 6).validUntil(Recording.nanos(5)));
        assertBroken(Promise.TOKENS_INCREASE);
    }

    @Test
    void twoHoldersAtATime() {
        recording.acquired(1, 1, 0, 1, 5).acquired(2, 2, 3, 4, 6);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aHolderThatStillBelievesWhenItLooksLater() {
        recording.acquired(1, 1, 0, 1, 2).valid(1, 1, 1.5, 5).acquired(2, 2, 3, 4, 6);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aLongBeliefThatOverlapsManyIsFoundEachTime() {
        recording.acquired(1, 1, 0, 1, 50).acquired(2, 2, 3, 4, 5).acquired(3, 3, 6, 7, 8);
        assertBroken(Promise.ONE_HOLDER, Promise.ONE_HOLDER);
    }

    @Test
    void aBeliefEndsBeforeTheReleaseAndWhenTheHolderKnowsThatItIsLostAndWhenItIsKilled() {
        recording
                .acquired(1, 1, 0, 1, 50)
                .released(1, 1, 3, 0)
                .acquired(2, 2, 2, 3.01, 50)
                .lost(2, 2, 5)
                .acquired(3, 3, 4, 5, 50)
                .add(3, Action.KILL, Phase.OK, 6, 6, facts -> facts)
                .acquired(4, 4, 6, 7, 50);
        assertExempted(Map.of());
    }

    @Test
    void givingOneOfSeveralHoldsBackEndsNothing() {
        recording
                .acquired(1, 1, 0, 1, 50)
                .reentered(1, 1, 2)
                .released(1, 1, 3, 1)
                .acquired(2, 2, 2, 4, 50);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aReleaseWithoutAnAnswerEndsTheBelief() {
        recording
                .acquired(1, 1, 0, 1, 50)
                .neverEnds(1, Action.RELEASE, 3, facts -> facts.token(1).holds(0))
                .acquired(2, 2, 2, 4, 50);
        assertExempted(Map.of());
    }

    @Test
    void aRowLockAndALeaseAtATime() {
        recording.rowLocked(1, 1, 5, Phase.OK).acquired(2, 2, 3, 4, 6);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aRowLockThatWasBrokenTellsNothing() {
        recording.rowLocked(1, 1, 5, Phase.FAIL).acquired(2, 2, 3, 4, 6);
        assertExempted(Map.of());
    }

    @Test
    void twoHoldersOfDifferentNames() {
        recording.acquired(1, 1, 0, 1, 5).of("b").acquired(2, 2, 3, 4, 6);
        assertExempted(Map.of());
    }

    @Test
    void twoHoldersAfterAForcedReleaseAreExemptedAndCounted() {
        recording.acquired(1, 1, 0, 1, 5).fault(Action.FORCE_RELEASE, 2).acquired(2, 2, 3, 4, 6);
        assertExempted(Map.of(Action.FORCE_RELEASE, 1));
    }

    @Test
    void twoHoldersAfterTheDatabasesClockWasSetForwardAreExemptedAndCounted() {
        recording.acquired(1, 1, 0, 1, 5).acquired(2, 2, 3, 4, 6).of(Facts.ALL).fault(Action.SET_CLOCK_FORWARD, 2);
        assertExempted(Map.of(Action.SET_CLOCK_FORWARD, 1));
    }

    @Test
    void aGrantThroughANodeThatLastBeatBeforeTheClockWasSetForwardIsExemptedToo() {
        recording
                .add(
                        1,
                        Action.ACQUIRE,
                        Phase.OK,
                        2,
                        2.5,
                        facts -> facts.grant(1, 1).node("n").validUntil(Recording.nanos(5)))
                .acquired(2, 2, 3, 4, 6)
                .of(Facts.ALL)
                .fault(Action.SET_CLOCK_FORWARD, 1);
        assertExempted(Map.of(Action.SET_CLOCK_FORWARD, 1));
    }

    @Test
    void aLeaseThatWasGrantedAfterTheClockWasSetForwardIsNotExempted() {
        recording
                .acquired(1, 1, 2, 2.5, 5)
                .acquired(2, 2, 3, 4, 6)
                .of(Facts.ALL)
                .fault(Action.SET_CLOCK_FORWARD, 1);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void whatHappenedLongBeforeOrToAnotherNameExemptsNothing() {
        recording
                .fault(Action.DELETE_ROWS, 0.5)
                .acquired(1, 1, 1, 1, 5)
                .acquired(2, 2, 3, 4, 6)
                .of("b")
                .fault(Action.DELETE_ROWS, 2);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void aPauseExemptsNothing() {
        recording.acquired(1, 1, 0, 1, 5).fault(Action.FAULT, 2).acquired(2, 2, 3, 4, 6);
        assertBroken(Promise.ONE_HOLDER);
    }

    @Test
    void commitsOutOfTheOrderOfTheirTokens() {
        recording.committed(1, 2, 1, 1).committed(2, 1, 2, 2);
        assertBroken(Promise.COMMITS_IN_ORDER_OF_TOKENS);
    }

    @Test
    void commitsOutOfOrderAreNeverExempted() {
        recording.fault(Action.FORCE_RELEASE, 0).committed(1, 2, 1, 1).committed(2, 1, 2, 2);
        assertBroken(Promise.COMMITS_IN_ORDER_OF_TOKENS);
    }

    @Test
    void aCommitThatOverwritesAnother() {
        recording.committed(1, 1, 1, 1).committed(2, 2, 2, 1);
        assertBroken(Promise.NO_COMMIT_LOST);
    }

    @Test
    void aCounterThatMissesAnAcknowledgedCommit() {
        recording
                .committed(1, 1, 1, 1)
                .committed(2, 2, 2, 2)
                .add(0, Action.COUNTER, Phase.OK, CALM, CALM, facts -> facts.value(1));
        assertBroken(Promise.NO_COMMIT_LOST);
    }

    @Test
    void aCounterThatNobodyAccountsFor() {
        recording
                .committed(1, 1, 1, 1)
                .add(2, Action.COMMIT, Phase.UNKNOWN, 2, 3, facts -> facts.token(2))
                .neverEnds(3, Action.COMMIT, 2, facts -> facts.token(3))
                .add(4, Action.COMMIT, Phase.FAIL, 2, 3, facts -> facts.token(4))
                .add(0, Action.COUNTER, Phase.OK, CALM, CALM, facts -> facts.value(4));
        assertBroken(Promise.NO_COMMIT_LOST);
    }

    @Test
    void commitsWithoutAnAnswerMayHaveBeenDoneOrNot() {
        recording
                .committed(1, 1, 1, 1)
                .add(2, Action.COMMIT, Phase.UNKNOWN, 2, 3, facts -> facts.token(2))
                .neverEnds(3, Action.COMMIT, 2, facts -> facts.token(3))
                .add(0, Action.COUNTER, Phase.OK, CALM, CALM, facts -> facts.value(2));
        assertExempted(Map.of());
    }

    @Test
    void aHoldThatIsGivenBackTwice() {
        recording.acquired(1, 1, 0, 1, 5).released(1, 1, 2, 0).released(1, 1, 3, 0);
        assertBroken(Promise.COUNTS_RETURN_TO_ZERO);
    }

    @Test
    void aHandleWhoseReleaseHadNoAnswerIsReleased() {
        recording
                .acquired(1, 1, 0, 1, 5)
                .add(1, Action.REENTER, Phase.OK, 1, 2, facts -> facts.token(1))
                .add(
                        1,
                        Action.RELEASE,
                        Phase.UNKNOWN,
                        2,
                        3,
                        facts -> facts.token(1).holds(1))
                .released(1, 1, 4, 0);
        assertExempted(Map.of());
    }

    @Test
    void aHoldThatIsCountedTwice() {
        recording.acquired(1, 1, 0, 1, 5).released(1, 1, 2, 1);
        assertBroken(Promise.COUNTS_RETURN_TO_ZERO);
    }

    @Test
    void aRowThatIsStillHeldByItsCountOrItsOwner() {
        recording
                .add(0, Action.ROW, Phase.OK, CALM, CALM, facts -> facts.holds(1))
                .of("b")
                .add(
                        0,
                        Action.ROW,
                        Phase.OK,
                        CALM,
                        CALM,
                        facts -> facts.holds(0).owner("somebody"));
        assertBroken(Promise.COUNTS_RETURN_TO_ZERO, Promise.COUNTS_RETURN_TO_ZERO);
    }

    @Test
    void aRowThatNamesADeadNode() {
        recording.add(0, Action.ROW, Phase.FAIL, CALM, CALM, facts -> facts.node("dead"));
        assertBroken(Promise.NOTHING_LEFT_BY_THE_DEAD);
    }

    @Test
    void aLockThatCannotBeHadSoonAfterTheFaults() {
        recording
                .add(9, Action.PROBE, Phase.OK, CALM, CALM + 3.1, facts -> facts)
                .of("b")
                .add(9, Action.PROBE, Phase.REFUSED, CALM, CALM + 2, facts -> facts)
                .of("c")
                .neverEnds(9, Action.PROBE, CALM, facts -> facts);
        assertBroken(Promise.BECOMES_FREE, Promise.BECOMES_FREE, Promise.BECOMES_FREE);
    }

    @Test
    void aHistoryWithoutAnEndIsNotJudged() {
        recording.acquired(1, 1, 0, 1, 5);
        HistoryChecker checker = new HistoryChecker(ofSeconds(3));
        assertThatIllegalArgumentException().isThrownBy(() -> checker.judge(recording.history()));
    }

    @Test
    void anEndWithoutABeginningIsNotJudged() {
        Event end = new Event(1, 1, Action.RELEASE, Phase.OK, 5, 5, Facts.of("a"));
        History history = new History(List.of(end));
        assertThatIllegalArgumentException().isThrownBy(history::operations);
    }

    @Test
    void aVerdictTellsWhatBrokeWhat() {
        recording.acquired(1, 1, 0, 1, 5).acquired(2, 2, 3, 4, 6);
        assertThat(verdict().toString()).startsWith("1 violations").contains("ONE_HOLDER", "owner-1", "owner-2");
    }

    @Test
    void aHundredThousandGrantsAreJudgedAndOneBadOneFound() {
        for (int i = 1; i <= 100_000; i++) {
            recording.acquired(i % 5, i, i, i + 0.5, i + 1.2).released(i % 5, i, i + 0.7, 0);
        }
        recording.acquired(7, 200_000, 500, 500.6, 500.8);
        assertThat(verdict().violations().stream().map(Violation::promise))
                .contains(Promise.ONE_HOLDER, Promise.ORDERED_BY_VERSION);
    }
}
