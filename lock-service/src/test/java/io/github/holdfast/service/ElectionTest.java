package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.spi.ILoggingEvent;
import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who leads, and what a leader and the others are told. */
@OnEachDatabase
class ElectionTest extends TwoServicesContract {

    private final List<LeaderElection> elections = new ArrayList<>();
    private String name = "";
    private int names;

    @BeforeEach
    void newName() {
        name = "election " + ++names;
    }

    @AfterEach
    void endElections() {
        elections.forEach(LeaderElection::close);
        elections.clear();
        assertThat(mine.find(name)).as("a lock that is left").isEmpty();
        await().atMost(SOON).until(() -> mine.admin().waiting() + theirs.admin().waiting() == 0);
    }

    private ElectionRequest request() {
        return ElectionRequest.of(name).retryAfterEnd(ZERO);
    }

    private LeaderElection election(LockService service, ElectionRequest request) {
        LeaderElection election = service.election(request);
        elections.add(election);
        return election;
    }

    private LeaderElection led(LockService service, ElectionRequest request, ElectionDiary diary) {
        LeaderElection election = election(service, request);
        election.start(diary);
        diary.awaitCalls(1);
        assertThat(election.isLeader()).isTrue();
        return election;
    }

    private static void awaitLeader(LeaderElection election) {
        await().pollInterval(ofMillis(1)).atMost(SOON).until(election::isLeader);
    }

    @Test
    void oneLeadsAndTheNextOneLeadsAfterItsResignation() {
        LeaderElection first = election(mine, request().candidate("node-1:8080").retryAfterEnd(ofMinutes(5)));
        LeaderElection second = election(theirs, request().candidate("node-2/a:b"));
        assertThat(first.leader()).isEmpty();
        first.start();
        awaitLeader(first);
        second.start();
        awaitWaiting(theirs, 1);
        LeaderInfo before = second.leader().orElseThrow();
        assertThat(before.name()).isEqualTo(name);
        assertThat(before.candidate()).isEqualTo("node-1:8080");
        assertThat(before.term()).isEqualTo(first.leadership().orElseThrow().term());
        assertThat(second.isLeader()).isFalse();
        assertThat(second.leadership()).isEmpty();
        assertThat(mine.find(name).orElseThrow().holder())
                .startsWith(mine.admin().process())
                .endsWith("node-1:8080");

        Leadership resigned = first.leadership().orElseThrow();
        long start = System.nanoTime();
        first.resign();
        assertThat(first.isLeader()).isFalse();
        assertThat(resigned.isOver()).isTrue();
        assertThat(resigned.remaining()).isZero();
        awaitLeader(second);
        System.out.printf(
                "%s: the next one leads %.1f ms after a resignation%n",
                database.kind(), (System.nanoTime() - start) / 1e6);
        assertThat(first.leader().orElseThrow())
                .satisfies(after -> assertThat(after.candidate()).isEqualTo("node-2/a:b"))
                .satisfies(after -> assertThat(after.term()).isGreaterThan(before.term()))
                .satisfies(after -> assertThat(after.since()).isAfter(before.since()));
        assertThatIllegalStateException()
                .isThrownBy(() -> resigned.ensureValidFor(ZERO))
                .withMessageContaining("this node resigned");
    }

    @Test
    void withoutACandidateTheProcessIsTheLeader() {
        LeaderElection election = election(mine, request());
        election.start();
        awaitLeader(election);
        assertThat(election.leader().orElseThrow().candidate())
                .isEqualTo(mine.admin().process());
        Leadership leadership = election.leadership().orElseThrow();
        assertThat(leadership.name()).isEqualTo(name);
        assertThat(leadership.remaining()).isBetween(ofMillis(1), NODE_LEASE);
        leadership.ensureValidFor(NODE_LEASE.dividedBy(2));
    }

    @Test
    void theHolderOfAnotherLockOfThisNameIsTheLeader() throws Exception {
        LeaderElection election = election(mine, request());
        var lock = theirs.acquire(LockRequest.of(name));
        assertThat(election.leader().orElseThrow())
                .satisfies(leader -> assertThat(leader.term()).isEqualTo(lock.fencingToken()))
                .satisfies(leader -> assertThat(leader.candidate())
                        .endsWith(Thread.currentThread().getName()));
        lock.close();
    }

    @Test
    void bothCallbacksComeOnOneThreadInTurnAndTheTermsGrow() {
        ElectionDiary diary = new ElectionDiary();
        LeaderElection election = election(mine, request());
        election.start(diary);
        for (int round = 1; round <= 5; round++) {
            diary.awaitCalls(2 * round - 1);
            election.resign();
        }
        diary.awaitCalls(11);
        election.close();
        election.close();
        diary.awaitCalls(12);
        assertThat(diary.entries())
                .hasSize(12)
                .allMatch(entry -> entry.thread().getName().startsWith("holdfast-"));
        assertThat(diary.entries().stream().map(ElectionDiary.Entry::thread).distinct())
                .hasSize(1);
        assertThat(diary.causes()).containsOnly(RevocationCause.RESIGNED);
        assertThat(election.isLeader()).isFalse();
    }

    /** Nobody else leads while a former leader still works. */
    @Test
    void theLockIsReleasedOnlyAfterBothCallbacksHaveReturned() throws Exception {
        Semaphore endOfRevocation = new Semaphore(0);
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        ElectionDiary diary = new ElectionDiary(
                leadership -> {
                    try {
                        new CountDownLatch(1).await();
                    } catch (InterruptedException interrupted) {
                        thrown.set(interrupted);
                    }
                },
                leadership -> endOfRevocation.acquire());
        LeaderElection first = led(mine, request().retryAfterEnd(ofMinutes(5)), diary);
        first.resign();
        diary.awaitCalls(2);
        assertThat(thrown.get()).isNotNull();
        assertThat(diary.entries().get(1).thread())
                .isSameAs(diary.entries().get(0).thread());
        assertThat(theirs.tryAcquire(LockRequest.of(name))).isEmpty();
        endOfRevocation.release();
        theirs.acquire(LockRequest.of(name).waitAtMost(SOON)).close();
    }

    @Test
    void aCallbackThatDoesNotReturnDoesNotHideTheEnd() throws Exception {
        Semaphore go = new Semaphore(0);
        ElectionDiary diary = new ElectionDiary(leadership -> go.acquireUninterruptibly());
        LeaderElection stuck = led(mine, request(), diary);
        long start = System.nanoTime();
        stuck.resign();
        diary.awaitCalls(2);
        assertThat(System.nanoTime() - start)
                .isGreaterThanOrEqualTo(ofSeconds(1).toNanos());
        assertThat(diary.entries().get(1).thread())
                .isNotSameAs(diary.entries().get(0).thread());
        assertThat(theirs.tryAcquire(LockRequest.of(name)))
                .as("the lock, while the former leader still works")
                .isEmpty();
        go.release(2);
        diary.awaitCalls(3);
        stuck.close();
        assertThat(diary.entries()).hasSize(4);
        diary.assertAlternating();
    }

    @Test
    void whoFailsResignsAndIsACandidateAgain() {
        AtomicReference<RuntimeException> failure = new AtomicReference<>(new IllegalStateException("cannot lead"));
        ElectionDiary diary = new ElectionDiary(leadership -> {
            RuntimeException failed = failure.getAndSet(null);
            if (failed != null) {
                throw failed;
            }
        });
        try (CapturedLog log = CapturedLog.of(LeaderElection.class)) {
            LeaderElection election = election(mine, request().retryAfterEnd(ofMillis(300)));
            election.start(diary);
            diary.awaitCalls(3);
            assertThat(log.lines())
                    .anySatisfy(line -> assertThat(line.getFormattedMessage())
                            .startsWith("onGranted of election '" + name + "' failed in term "));
            election.close();
        }
        assertThat(diary.causes()).containsExactly(RevocationCause.FAILED, RevocationCause.RESIGNED);
    }

    @Test
    void aLeaderMayResignInBothCallbacks() {
        LeaderElection election = election(mine, request());
        List<Boolean> wereInterrupted = new CopyOnWriteArrayList<>();
        ElectionDiary diary = new ElectionDiary(
                leadership -> {
                    election.resign();
                    wereInterrupted.add(Thread.currentThread().isInterrupted());
                },
                leadership -> election.resign());
        election.start(diary);
        diary.awaitCalls(4);
        // It may interrupt a third leadership.
        election.close();
        assertThat(wereInterrupted).startsWith(false, false);
        assertThat(diary.causes()).startsWith(RevocationCause.RESIGNED, RevocationCause.RESIGNED);
    }

    @Test
    void aLeaderMayCloseTheElectionInACallback() throws Exception {
        for (boolean isAtEnd : List.of(false, true)) {
            LeaderElection election = election(mine, request());
            ElectionDiary diary = new ElectionDiary(
                    leadership -> {
                        if (!isAtEnd) {
                            election.close();
                        }
                    },
                    leadership -> election.close());
            election.start(diary);
            diary.awaitCalls(1);
            election.resign();
            diary.awaitCalls(2);
            theirs.acquire(LockRequest.of(name).waitAtMost(SOON)).close();
            election.close();
            assertThat(diary.entries()).hasSize(2);
        }
    }

    @Test
    void whoHasWaitedIsNotInterruptedByALaterClose() throws Exception {
        LockHandle ofOthers = theirs.acquire(LockRequest.of(name));
        LeaderElection election = election(mine, request());
        CountDownLatch isRefused = new CountDownLatch(1);
        CountDownLatch isClosedAgain = new CountDownLatch(1);
        Future<Boolean> waiting = threads.submit(() -> {
            assertThatIllegalStateException().isThrownBy(() -> election.runAsLeader(leadership -> {}));
            isRefused.countDown();
            return isClosedAgain.await(SOON.toSeconds(), TimeUnit.SECONDS);
        });
        awaitWaiting(mine, 1);
        election.close();
        assertThat(isRefused.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        election.close();
        isClosedAgain.countDown();
        assertThat(get(waiting)).isTrue();
        ofOthers.close();
    }

    /** Kotlin, for example, throws checked exceptions out of any method. */
    @Test
    void aCallbackThatThrowsWhatItDoesNotDeclareDoesNotEndTheCandidacy() {
        AtomicBoolean isFirst = new AtomicBoolean(true);
        ElectionDiary diary = new ElectionDiary();
        LeaderElection election = election(mine, request());
        election.start(new LeaderCallbacks() {
            @Override
            public void onGranted(Leadership leadership) throws Exception {
                diary.onGranted(leadership);
            }

            @Override
            public void onRevoked(Leadership leadership, RevocationCause cause) {
                diary.onRevoked(leadership, cause);
                if (isFirst.getAndSet(false)) {
                    ElectionTest.<RuntimeException>throwUndeclared(new IOException("not declared"));
                }
            }
        });
        diary.awaitCalls(1);
        try (CapturedLog log = CapturedLog.of(LeaderElection.class)) {
            election.resign();
            diary.awaitCalls(3);
            election.close();
            assertThat(log.lines())
                    .singleElement()
                    .extracting(ILoggingEvent::getFormattedMessage)
                    .asString()
                    .contains("onRevoked");
        }
        assertThat(diary.causes()).containsOnly(RevocationCause.RESIGNED);
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private static <E extends Throwable> void throwUndeclared(Throwable thrown) throws E {
        throw (E) thrown;
    }

    @Test
    void aLeaderThatSeesTheLossItselfIsInterruptedToo() {
        CountDownLatch isInterrupted = new CountDownLatch(1);
        ElectionDiary diary = new ElectionDiary(leadership -> {
            while (!Thread.currentThread().isInterrupted()) {
                boolean unused = leadership.isOver();
                Thread.onSpinWait();
            }
            isInterrupted.countDown();
        });
        LeaderElection election = led(mine, request().retryAfterEnd(ofMinutes(5)), diary);
        theirs.admin().forceRelease(name, "a test");
        diary.awaitCalls(2);
        assertThat(isInterrupted.getCount()).isZero();
        assertThat(diary.causes()).containsExactly(RevocationCause.FORCED);
        assertThat(diary.entries().get(1).thread())
                .isSameAs(diary.entries().get(0).thread());
        assertThat(election.isLeader()).isFalse();
    }

    @Test
    void twoElectionsOfOneNameInOneServiceExcludeEachOther() {
        ElectionDiary oneDiary = new ElectionDiary();
        ElectionDiary otherDiary = new ElectionDiary();
        LeaderElection one = led(mine, request(), oneDiary);
        LeaderElection other = election(mine, request());
        other.start(otherDiary);
        awaitWaiting(mine, 1);
        assertThat(other.isLeader()).isFalse();
        one.close();
        otherDiary.awaitCalls(1);
        assertThat(one.isLeader()).isFalse();
        assertThat(otherDiary.entries().get(0).term())
                .isGreaterThan(oneDiary.entries().get(0).term());
    }

    @Test
    void aForcedReleaseEndsTheLeadershipBeforeAnybodyElseLeads() {
        ElectionDiary diary = new ElectionDiary();
        LeaderElection deposed = led(mine, request().retryAfterEnd(ofMinutes(5)), diary);
        LeaderElection next = election(theirs, request());
        next.start();
        awaitWaiting(theirs, 1);
        Leadership leadership = deposed.leadership().orElseThrow();
        theirs.admin().forceRelease(name, "a test");
        await().pollInterval(ofMillis(1)).atMost(SOON).until(() -> {
            boolean isNextLeading = next.isLeader();
            boolean isLeading = !leadership.isOver();
            assertThat(isNextLeading && isLeading).isFalse();
            return isNextLeading;
        });
        diary.awaitCalls(2);
        assertThat(diary.causes()).containsExactly(RevocationCause.FORCED);
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> leadership.ensureValidFor(ZERO));
    }

    /** No node can lead for a node lease, which is longer than the pause. */
    @Test
    void aDeposedLeaderLetsAnotherNodeLeadFirst() {
        ElectionDiary diary = new ElectionDiary();
        LeaderElection unused = led(mine, request().retryAfterEnd(NODE_LEASE.dividedBy(3)), diary);
        LeaderElection next = election(theirs, request());
        next.start();
        awaitWaiting(theirs, 1);
        theirs.admin().forceRelease(name, "a test");
        diary.awaitCalls(2);
        await().pollInterval(ofMillis(1)).atMost(SOON).until(() -> {
            assertThat(mine.admin().waiters()).as("candidates of the deposed").isEmpty();
            return next.isLeader();
        });
    }

    @Test
    void aDeposedLeaderCannotCommit() throws Exception {
        CountDownLatch isRead = new CountDownLatch(1);
        Semaphore go = new Semaphore(0);
        AtomicReference<Throwable> refused = new AtomicReference<>();
        ElectionDiary diary = new ElectionDiary(leadership -> {
            try {
                books.inTransaction(em -> Ledger.post(em, leadership.term(), () -> {
                    isRead.countDown();
                    go.acquireUninterruptibly();
                }));
            } catch (LockLostException lost) {
                refused.set(lost);
            }
        });
        LeaderElection election = led(mine, request().retryAfterEnd(ofMinutes(5)), diary);
        isRead.await();
        Leadership leadership = election.leadership().orElseThrow();
        theirs.admin().forceRelease(name, "a test");
        go.release();
        await().atMost(SOON).until(() -> refused.get() != null);
        assertThat(ledger.amount()).isZero();

        Future<?> ofOtherThread = threads.submit(() -> books.inTransaction(em -> {
            Ledger.post(em, leadership.term(), () -> {});
            leadership.guard(em);
        }));
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> get(ofOtherThread))
                .withCauseInstanceOf(LockLostException.class);
        assertThat(ledger.amount()).isZero();
        election.close();
    }

    @Test
    void aLeaderCommitsOnItsOwnAndOnOtherThreads() throws Exception {
        ElectionDiary diary = new ElectionDiary(
                leadership -> books.inTransaction(em -> Ledger.post(em, leadership.term(), () -> {})),
                leadership -> books.inTransaction(em -> Ledger.post(em, leadership.term(), () -> {})));
        LeaderElection election = led(mine, request().retryAfterEnd(ofMinutes(5)), diary);
        await().atMost(SOON).until(() -> ledger.amount() == 1);
        Leadership leadership = election.leadership().orElseThrow();
        get(threads.submit(() -> books.inTransaction(em -> {
            Ledger.post(em, leadership.term(), () -> {});
            leadership.guard();
        })));
        election.close();
        assertThat(ledger.faults(3)).isEmpty();
    }

    @Test
    void workIsDoneByTheLeader() throws Exception {
        LeaderElection first = election(mine, request());
        LeaderElection second = election(theirs, request().candidate("second"));
        CountDownLatch go = new CountDownLatch(1);
        AtomicLong term = new AtomicLong();
        Future<?> leading = threads.submit(() -> {
            first.runAsLeader(leadership -> {
                term.set(leadership.term());
                go.await();
                books.inTransaction(em -> Ledger.post(em, leadership.term(), () -> {}));
            });
            return null;
        });
        awaitLeader(first);
        assertThatIllegalStateException().isThrownBy(first::start).withMessageContaining("has a candidate already");
        Future<Thread> next = threads.submit(() -> {
            second.runAsLeader(leadership -> assertThat(leadership.term()).isGreaterThan(term.get()));
            return Thread.currentThread();
        });
        awaitWaiting(theirs, 1);
        assertThat(leading.isDone()).isFalse();
        go.countDown();
        get(leading);
        assertThat(get(next).getName()).isEqualTo("contender");
        assertThat(first.isLeader() || second.isLeader()).isFalse();
        assertThat(ledger.amount()).isEqualTo(1);
        assertThatExceptionOfType(java.io.IOException.class)
                .isThrownBy(() -> first.runAsLeader(leadership -> {
                    throw new java.io.IOException("of the work");
                }));
    }

    @Test
    void workIsInterruptedWhenItsLeadershipEnds() {
        LeaderElection election = election(mine, request());
        Future<?> resigning = threads.submit(() -> {
            election.runAsLeader(leadership -> new CountDownLatch(1).await());
            return null;
        });
        awaitLeader(election);
        election.resign();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> get(resigning))
                .withCauseInstanceOf(InterruptedException.class);

        Future<?> losing = threads.submit(() -> {
            election.runAsLeader(leadership -> {
                try {
                    new CountDownLatch(1).await();
                } catch (InterruptedException lost) {
                    assertThat(leadership.isOver()).isTrue();
                }
            });
            return null;
        });
        awaitLeader(election);
        theirs.admin().forceRelease(name, "a test");
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> get(losing))
                .withCauseInstanceOf(LockLostException.class);
        await().atMost(SOON).until(() -> theirs.find(name).isEmpty());
    }

    @Test
    void aClosedElectionEndsTheWaitAndIsNotStartedAgain() throws Exception {
        var held = theirs.acquire(LockRequest.of(name));
        LeaderElection waiting = election(mine, request());
        waiting.start();
        assertThatIllegalStateException().isThrownBy(waiting::start);
        LeaderElection working = election(mine, request());
        Future<?> work = threads.submit(() -> {
            working.runAsLeader(leadership -> {});
            return null;
        });
        awaitWaiting(mine, 2);
        waiting.close();
        working.close();
        assertThat(mine.admin().waiting()).isZero();
        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(() -> get(work))
                .withCauseInstanceOf(IllegalStateException.class)
                .withMessageContaining("was closed");
        assertThatIllegalStateException().isThrownBy(waiting::start).withMessageContaining("is closed");
        held.close();
    }

    @Test
    void aCandidateMayLookAtIntervals() throws Exception {
        var held = theirs.acquire(LockRequest.of(name));
        ElectionDiary diary = new ElectionDiary();
        LeaderElection election = election(mine, request().lookEvery(ofMillis(200)));
        election.start(diary);
        await().during(ofMillis(500)).atMost(SOON).until(() -> !election.isLeader());
        held.close();
        diary.awaitCalls(1);
        election.close();
        diary.awaitCalls(2);
    }
}
