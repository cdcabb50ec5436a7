package io.github.holdfast.service.engine.hold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.LeaseAcquisition;
import io.github.holdfast.service.engine.hold.HoldRegistry.Reentry;
import io.github.holdfast.service.engine.node.Node;
import io.github.holdfast.service.engine.node.Node.Timing;
import io.github.holdfast.service.engine.row.HoldRow;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every way from one state of a hold to another, on a clock that the test moves. Nothing is written here: there is no store. */
class HoldStateTest {

    private static final Timing TIMING = Timing.ofLease(ServiceSettings.DEFAULT_NODE_LEASE);
    private static final Duration LEASE = TIMING.lease();
    private static final Duration VALID = LEASE.minus(LEASE.dividedBy(1000));
    private static final Duration NANO = Duration.ofNanos(1);

    private final FakeTicker ticker = new FakeTicker();
    private final Queue<String> events = new ConcurrentLinkedQueue<>();
    private final LockEngine engine = ticker.engineWithoutStore(new LockListener() {
        @Override
        public void suspect(String lockName, long fencingToken) {
            events.add("suspect " + lockName);
        }

        @Override
        public void lost(LockLost loss) {
            events.add("lost " + loss.lockName() + " " + loss.cause());
        }
    });
    private final Node node = new Node("node", TIMING, ticker, ticker.nanoTime());

    @AfterEach
    void endTheThreads() {
        engine.access().inDoubtWrites().close();
        engine.monitor().close();
        engine.context().listeners().close();
    }

    /** Granted just now, and answered at once. */
    private LeaseHold hold(String name) {
        return hold(name, ticker.nanoTime());
    }

    private LeaseHold hold(String name, long sentAt) {
        LeaseHold hold = unconfirmed(name, sentAt);
        hold.lifetime().confirmOnceKept();
        return hold;
    }

    private LeaseHold unconfirmed(String name, long sentAt) {
        LockEntity row = new LockEntity(name, 7).granted("owner", node.id(), null);
        return LeaseAcquisition.hold(
                engine.context(),
                LockRequest.of(name),
                new NewGrant.OfLock(row, node, sentAt, LEASE, 0, false, ticker.nanoTime()));
    }

    private LockHandle handle(LeaseHold hold) {
        return hold.handle();
    }

    private void beat() {
        assertThat(node.beaten(node.beginBeat())).isTrue();
    }

    private void told(String... expected) {
        await().untilAsserted(() -> assertThat(events).containsExactly(expected));
    }

    // Held, suspect, held again

    @Test
    void heldBecomesSuspectWhenABeatIsOverdueAndHeldAgainWithTheNext() {
        LeaseHold hold = hold("order");
        LockHandle handle = handle(hold);
        assertThat(handle.state()).isEqualTo(LockState.HELD);
        ticker.advance(TIMING.suspectAfter().minus(NANO));
        assertThat(handle.state()).isEqualTo(LockState.HELD);
        assertThat(hold.lifetime().check()).isEqualTo(1);
        ticker.advance(NANO);
        assertThat(handle.state()).isEqualTo(LockState.SUSPECT);
        assertThat(handle.remaining()).isEqualTo(VALID.minus(TIMING.suspectAfter()));
        assertThat(hold.lifetime().check()).isEqualTo(handle.remaining().toNanos());
        beat();
        assertThat(handle.state()).isEqualTo(LockState.HELD);
        assertThat(handle.remaining()).isEqualTo(VALID);
    }

    @Test
    void eachTimeThatItIsSuspectIsToldOnce() {
        LeaseHold hold = hold("order");
        for (int times = 0; times < 2; times++) {
            ticker.advance(TIMING.suspectAfter());
            hold.lifetime().check();
            hold.lifetime().check();
            beat();
            hold.lifetime().check();
        }
        told("suspect order", "suspect order");
    }

    // Lost

    @Test
    void suspectBecomesLostAtTheDeadline() {
        LockHandle handle = handle(hold("order"));
        ticker.advance(VALID.minus(NANO));
        assertThat(handle.state()).isEqualTo(LockState.SUSPECT);
        assertThat(handle.remaining()).isEqualTo(NANO);
        ticker.advance(NANO);
        assertThat(handle.state()).isEqualTo(LockState.LOST);
        assertThat(handle.remaining()).isZero();
    }

    @Test
    void theFirstLookAfterALongPauseSaysLostWhateverItIs() {
        List<LockHandle> handles = List.of(handle(hold("state")), handle(hold("remaining")), handle(hold("ensure")));
        ticker.advance(LEASE.multipliedBy(3));
        assertThat(handles.get(0).state()).isEqualTo(LockState.LOST);
        assertThat(handles.get(1).remaining()).isZero();
        assertThat(catchThrowableOfType(
                                LockLostException.class, () -> handles.get(2).ensureValidFor(NANO))
                        .lossCause())
                .isEqualTo(LossCause.EXPIRED);
    }

    @Test
    void lostIsFinalEvenIfABeatArrivesAfterwards() {
        LeaseHold hold = hold("order");
        long sentAt = node.beginBeat();
        ticker.advance(VALID);
        assertThat(node.beaten(sentAt)).isFalse();
        assertThat(node.isOver()).isTrue();
        assertThat(handle(hold).state()).isEqualTo(LockState.LOST);
        ticker.advance(VALID.negated());
        assertThat(handle(hold).state()).isEqualTo(LockState.LOST);
        assertThat(handle(hold("other")).state()).isEqualTo(LockState.LOST);
    }

    /** A clock on which something happens right after one of its reads. */
    private static final class PassingTicker implements Ticker {

        private long now;
        private int reads;
        private Runnable between = () -> {};

        @Override
        public long nanoTime() {
            long seen = now;
            reads--;
            if (reads == 0) {
                between.run();
            }
            return seen;
        }

        @Override
        public void park(Object blocker, long nanos) {
            now += nanos;
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
    void aRenewalDoesNotBringBackALeaseWhoseEndWasSeen(int reads) throws Exception {
        PassingTicker clock = new PassingTicker();
        LeaseExpiry lease = new LeaseExpiry(clock, clock.now, LEASE);
        clock.now += VALID.toNanos() - 1;
        AtomicBoolean wasSeenOver = new AtomicBoolean();
        clock.between = () -> {
            clock.now++;
            wasSeenOver.set(lease.left(clock.now) <= 0);
        };
        try (Deadline deadline = Deadline.uninterruptible(clock, LEASE)) {
            clock.reads = reads;
            lease.renew(answering(), count -> count, LEASE, deadline);
        }
        assertThat(wasSeenOver.get() && lease.left(clock.now) > 0)
                .as("came back")
                .isFalse();
    }

    /** A row whose lease can always be extended. */
    private static HoldRow answering() {
        return (HoldRow) Proxy.newProxyInstance(
                HoldRow.class.getClassLoader(), new Class<?>[] {HoldRow.class}, (self, method, arguments) -> {
                    ((Runnable) arguments[2]).run();
                    return true;
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6})
    void aBeatDoesNotBringBackANodeWhoseEndWasSeen(int reads) {
        PassingTicker clock = new PassingTicker();
        Node beating = new Node("beating", TIMING, clock, clock.now);
        clock.now += VALID.toNanos() - 1;
        AtomicBoolean wasSeenOver = new AtomicBoolean();
        clock.between = () -> {
            clock.now++;
            wasSeenOver.set(beating.left(clock.now) <= 0);
        };
        long sentAt = beating.beginBeat();
        clock.reads = reads;
        boolean isBeaten = beating.beaten(sentAt);
        assertThat(isBeaten && wasSeenOver.get()).as("came back").isFalse();
        assertThat(isBeaten).isNotEqualTo(beating.left(clock.now) <= 0);
    }

    @Test
    void aQuestionReportsNothingAndTheCheckReportsTheLoss() {
        LeaseHold hold = hold("order");
        LockHandle handle = handle(hold);
        ticker.advance(VALID);
        assertThat(handle.state()).isEqualTo(LockState.LOST);
        assertThat(handle.remaining()).isZero();
        assertThat(hold.isLost()).isTrue();
        hold.lifetime().onLost(loss -> events.add("handler"));
        ticker.advance(VALID.negated());
        assertThat(handle.state()).as("nothing was reported").isEqualTo(LockState.HELD);
        ticker.advance(VALID);
        assertThat(hold.lifetime().expireIfOver()).isTrue();
        ticker.advance(VALID.negated());
        assertThat(handle.state()).as("a reported loss is final").isEqualTo(LockState.LOST);
        told("handler", "lost order EXPIRED");
    }

    @Test
    void aBeatThatHadNoAnswerMakesTheDatabaseTheCause() {
        LeaseHold hold = hold("order");
        ticker.advance(TIMING.period());
        node.beginBeat();
        ticker.advance(VALID);
        assertThat(hold.lifetime().expireIfOver()).isTrue();
        told("lost order DATABASE_UNREACHABLE");
    }

    @Test
    void aNodeThatTheDatabaseEndedLosesItsHoldsAtOnce() {
        LeaseHold hold = hold("order");
        node.end(LossCause.EXPIRED);
        node.end(LossCause.SERVICE_CLOSED);
        assertThat(handle(hold).state()).isEqualTo(LockState.LOST);
        assertThat(hold.lifetime().check()).isEqualTo(Long.MAX_VALUE);
        told("lost order EXPIRED");
    }

    @Test
    void aHoldThatIsToldThatItsRowMovedOnIsLostAloneAndKeepsTheFirstCause() {
        LeaseHold hold = hold("order");
        LeaseHold other = hold("report");
        hold.lifetime().lose(LossCause.FORCED);
        hold.lifetime().lose(LossCause.TAKEN_OVER);
        ticker.advance(TIMING.period());
        beat();
        assertThat(handle(hold).state()).isEqualTo(LockState.LOST);
        assertThat(handle(hold).remaining()).isZero();
        assertThat(handle(other).state()).isEqualTo(LockState.HELD);
        assertThat(hold.lifetime().lossException().lossCause()).isEqualTo(LossCause.FORCED);
        told("lost order FORCED");
    }

    // What a beat confirms

    @Test
    void aBeatThatWasUnderWayDuringTheGrantDoesNotMakeTheHoldLast() {
        ticker.advance(TIMING.period());
        long grantSentAt = ticker.nanoTime();
        ticker.advance(NANO);
        long beatSentAt = node.beginBeat();
        ticker.advance(Duration.ofSeconds(1));
        LeaseHold hold = hold("order", grantSentAt);
        assertThat(node.beaten(beatSentAt)).isTrue();
        assertThat(hold.lifetime().remaining()).isEqualTo(VALID.minusSeconds(1).minus(NANO));
        ticker.advance(TIMING.period());
        beat();
        assertThat(hold.lifetime().remaining()).isEqualTo(VALID);
    }

    @Test
    void aHoldIsLostWithItsNodeEvenIfItWasGrantedLater() {
        ticker.advance(TIMING.period());
        LeaseHold hold = hold("order");
        assertThat(hold.lifetime().remaining()).isEqualTo(VALID.minus(TIMING.period()));
    }

    @Test
    void aHoldThatNoBeatConfirmsEndsByItselfAlthoughItsNodeLives() {
        long grantSentAt = ticker.nanoTime();
        long beatSentAt = node.beginBeat() + 1;
        ticker.advance(TIMING.period());
        LeaseHold hold = hold("order", grantSentAt);
        assertThat(node.beaten(beatSentAt + TIMING.period().toNanos() - 2)).isTrue();
        ticker.advance(VALID.minus(TIMING.period()));
        assertThat(node.isOver()).isFalse();
        assertThat(handle(hold).state()).isEqualTo(LockState.LOST);
    }

    @Test
    void aHoldThatAReconciliationMayHaveMissedEndsByItselfUntilItWasSeenToStand() {
        LeaseHold hold = unconfirmed("order", ticker.nanoTime());
        ticker.advance(TIMING.period());
        beat();
        assertThat(hold.lifetime().remaining()).isEqualTo(VALID.minus(TIMING.period()));
        hold.lifetime().confirm();
        assertThat(hold.lifetime().remaining()).isEqualTo(VALID.minus(TIMING.period()));
        ticker.advance(TIMING.period());
        beat();
        assertThat(hold.lifetime().remaining()).isEqualTo(VALID);
    }

    // By a lease

    @Test
    void aLeaseIsNeverSuspect() {
        LockEntity row = new LockEntity("order", 7).granted("owner", null, null);
        LeaseHold hold = LeaseAcquisition.hold(
                engine.context(),
                LockRequest.of("order").lease(LEASE),
                new NewGrant.OfLock(row, null, ticker.nanoTime(), LEASE, 0, false, ticker.nanoTime()));
        ticker.advance(VALID.minus(NANO));
        assertThat(handle(hold).state()).isEqualTo(LockState.HELD);
        assertThat(hold.lifetime().check()).isEqualTo(1);
        ticker.advance(NANO);
        assertThat(handle(hold).state()).isEqualTo(LockState.LOST);
        assertThat(hold.lifetime().check()).isEqualTo(Long.MAX_VALUE);
        told("lost order EXPIRED");
    }

    // Who is told, and when

    @Test
    void theWatchTellsOnTimeWithoutAnybodyLooking() {
        LeaseHold hold = hold("order");
        Thread worker = new Thread(() -> {
            try {
                new CountDownLatch(1).await();
            } catch (InterruptedException interrupted) {
                events.add("interrupted");
            }
        });
        worker.start();
        hold.lifetime().interruptOnLoss(worker);
        hold.lifetime().onLost(loss -> events.add("handler " + loss.cause()));
        engine.context().holds().add(hold, Thread.currentThread(), Reentry.NONE);
        engine.monitor().expect(hold);
        ticker.advance(TIMING.suspectAfter());
        told("suspect order");
        ticker.advance(VALID.minus(TIMING.suspectAfter()));
        await().untilAsserted(() -> assertThat(events)
                .containsExactlyInAnyOrder("suspect order", "interrupted", "handler EXPIRED", "lost order EXPIRED"));
    }

    @Test
    void theWatchWakesUpForAHoldThatEndsBeforeTheOthers() {
        LeaseHold late = hold("late");
        engine.context().holds().add(late, Thread.currentThread(), Reentry.NONE);
        engine.monitor().expect(late);
        LockEntity row = new LockEntity("early", 7).granted("owner", null, null);
        Duration lease = Duration.ofSeconds(1);
        LeaseHold early = LeaseAcquisition.hold(
                engine.context(),
                LockRequest.of("early").lease(lease),
                new NewGrant.OfLock(row, null, ticker.nanoTime(), lease, 0, false, ticker.nanoTime()));
        engine.context().holds().add(early, Thread.currentThread(), Reentry.NONE);
        engine.monitor().expect(early);
        ticker.advance(lease);
        told("lost early EXPIRED");
        assertThat(late.lifetime().isLost()).isFalse();
    }

    @Test
    void aHandlerThatComesAfterTheLossIsCalledOnceAndAFailingOneHarmsNobody() {
        LeaseHold hold = hold("order");
        hold.lifetime().onLost(loss -> {
            throw new IllegalStateException("a user's mistake");
        });
        hold.lifetime().lose(LossCause.TAKEN_OVER);
        hold.lifetime().onLost(loss -> events.add("late handler " + loss.cause()));
        told("lost order TAKEN_OVER", "late handler TAKEN_OVER");
    }

    @Test
    void nobodyIsInterruptedOnceTheLastHandleIsBeingReleased() {
        LeaseHold hold = hold("order");
        hold.lifetime().interruptOnLoss(Thread.currentThread());
        hold.lifetime().spare();
        hold.lifetime().lose(LossCause.EXPIRED);
        assertThat(Thread.interrupted()).isFalse();
    }

    // The node's own rhythm

    @Test
    void aBeatIsDueAfterAThirdOfTheLeaseAndAgainAtOnceWhileItFails() {
        assertThat(node.isBeatDue()).isFalse();
        ticker.advance(TIMING.period());
        assertThat(node.isBeatDue()).isTrue();
        node.beginBeat();
        assertThat(node.isBeatDue()).isTrue();
        beat();
        assertThat(node.isBeatDue()).isFalse();
    }

    @Test
    void aNodeKnowsWhichVersionsOfItsRowACopyOfItsProcessHasWritten() {
        Node copy = new Node("node", TIMING, ticker, ticker.nanoTime());
        assertThat(node.pendingVersion())
                .as("an image contains no version that is still to be written")
                .isZero();
        node.beginBeat();
        copy.beginBeat();
        long sent = node.pendingVersion();
        assertThat(node.mayBeOwn(1)).as("a forced release").isTrue();
        assertThat(node.mayBeOwn(sent)).as("a beat without an answer").isTrue();
        assertThat(node.mayBeOwn(sent + 1)).as("and a forced release after it").isTrue();
        assertThat(node.mayBeOwn(copy.pendingVersion())).as("a beat of a copy").isFalse();
        node.beginBeat();
        assertThat(node.pendingVersion()).as("a repeated beat").isEqualTo(sent);
        beat();
        assertThat(node.version())
                .as("each beat writes another version, because observers count from the first sight of one")
                .isEqualTo(sent + 2);
        assertThat(node.mayBeOwn(0)).as("a failover has undone the beat").isTrue();
    }

    @Test
    void theVersionThatTheDatabaseShowsDoesNotMakeTheNodeLiveLonger() {
        ticker.advance(TIMING.suspectAfter());
        node.moveTo(41);
        assertThat(node.version()).isEqualTo(41);
        assertThat(node.untilSuspect(ticker.nanoTime())).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT0.999999999S", "P1DT0.000000001S", "PT0S", "PT-1S"})
    void aNodesLeaseIsFromASecondToADay(String lease) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Timing.ofLease(Duration.parse(lease)))
                .withMessageContaining("from 1 s to 1 d");
    }

    @ParameterizedTest
    @ValueSource(strings = {"PT1S", "PT30S", "P1D"})
    void aLeaseIsLongerThanTheTimeAfterWhichABeatIsOverdueAndThatThanThePeriod(String lease) {
        Timing timing = Timing.ofLease(Duration.parse(lease));
        assertThat(timing.lease()).isGreaterThan(timing.suspectAfter());
        assertThat(timing.suspectAfter()).isGreaterThan(timing.period());
        assertThat(timing.period()).isGreaterThan(timing.tick());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Timing(timing.lease(), timing.lease(), timing.period()));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Timing(timing.lease(), timing.period(), timing.period()));
    }
}
