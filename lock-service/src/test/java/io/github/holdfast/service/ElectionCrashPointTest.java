package io.github.holdfast.service;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.OnEachDatabase;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The connection breaks in what is asked of an election. Afterwards, nobody leads who does not know it. */
@Tag("crash-point")
@OnEachDatabase
class ElectionCrashPointTest extends CrashPoints {

    private LeaderElection election(Crash crash) {
        LockRequest unused = crash.request();
        return mine.election(ElectionRequest.of(crash.name()));
    }

    /** Leads while no connection breaks but in the work. */
    private void lead(Crash crash, LeaderElection.Work<Exception> work) throws Exception {
        try (LeaderElection election = election(crash)) {
            election.runAsLeader(leadership -> {
                crash.had(crash.name(), leadership.term());
                work.lead(leadership);
            });
        }
    }

    @Test
    @Breaks("LeaderElection.leader()")
    void theLeaderIsRead() {
        atEachStep(1, crash -> {
            LockHandle lock = crash.keep(mine.acquire(crash.request()));
            try (LeaderElection election = election(crash)) {
                crash.during(election::leader)
                        .ifPresent(leader ->
                                assertThat(leader.orElseThrow().term()).isEqualTo(lock.fencingToken()));
            }
        });
    }

    @Test
    @Breaks("LeaderElection.runAsLeader(Work)")
    void workIsDoneByALeader() {
        atEachStep(4, crash -> {
            try (LeaderElection election = election(crash)) {
                boolean unused = crash.isDone(() -> election.runAsLeader(leadership -> {
                    crash.had(crash.name(), leadership.term());
                    assertThat(leadership.isOver()).isFalse();
                }));
                assertThat(election.isLeader()).isFalse();
            }
        });
    }

    @Test
    @Breaks("Leadership.ensureValidFor(Duration)")
    void aLeadershipIsMadeToLast() {
        atEachStep(
                2,
                crash -> lead(crash, leadership -> {
                    ticker.jump(LONG.dividedBy(3));
                    assertThat(crash.isDone(() -> leadership.ensureValidFor(
                                    LONG.dividedBy(3).multipliedBy(2).plusMinutes(1))))
                            .isTrue();
                    assertThat(leadership.isOver()).isFalse();
                }));
    }

    @Test
    @Breaks("Leadership.guard()")
    void aTransactionIsGuarded() {
        atEachStep(
                4,
                crash -> lead(crash, leadership -> {
                    boolean unused = crash.isCommittedAfter(leadership::guard);
                    assertThat(leadership.isOver()).isFalse();
                }));
    }

    @Test
    @Breaks("Leadership.guard(EntityManager)")
    void aTransactionOfAnEntityManagerIsGuarded() {
        atEachStep(
                4,
                crash -> lead(crash, leadership -> {
                    boolean unused = crash.isCommittedAfter(() -> leadership.guard(em()));
                    assertThat(leadership.isOver()).isFalse();
                }));
    }
}
