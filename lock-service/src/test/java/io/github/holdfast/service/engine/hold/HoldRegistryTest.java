package io.github.holdfast.service.engine.hold;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.service.engine.FakeTicker;
import io.github.holdfast.service.engine.LockEngine;
import io.github.holdfast.service.engine.acquire.LeaseAcquisition;
import io.github.holdfast.service.engine.hold.HoldRegistry.Reentry;
import io.github.holdfast.service.engine.row.NewGrant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which thread re-enters which hold. No hold writes its row here, so there is no store. */
class HoldRegistryTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private final Thread me = Thread.currentThread();
    private final Thread another = new Thread(() -> {});

    private final FakeTicker ticker = new FakeTicker();
    private long acquisitions;

    private final LockEngine engine = ticker.engineWithoutStore();
    private final HoldRegistry held = engine.context().holds();

    @AfterEach
    void endTheThreads() {
        engine.access().inDoubtWrites().close();
        engine.context().listeners().close();
    }

    private LeaseHold hold(String name) {
        acquisitions++;
        LockEntity row = new LockEntity(name, acquisitions).granted("owner-" + acquisitions, null, null);
        return LeaseAcquisition.hold(
                engine.context(),
                LockRequest.of(name).lease(LEASE),
                new NewGrant.OfLock(row, null, ticker.nanoTime(), LEASE, 0, false, ticker.nanoTime()));
    }

    private LeaseHold added(String name, Thread thread) {
        LeaseHold hold = hold(name);
        held.add(hold, thread, Reentry.BY_THREAD);
        return hold;
    }

    private void passLease() {
        ticker.advance(LEASE);
    }

    @Test
    void threadFindsItsHoldOfThatNameOnly() {
        LeaseHold order = added("order", me);
        LeaseHold report = added("report", me);

        assertThat(held.ofCurrentThread("order")).containsSame(order);
        assertThat(held.ofCurrentThread("report")).containsSame(report);
        assertThat(held.ofCurrentThread("Order")).isEmpty();
        assertThat(held.size()).isEqualTo(2);
    }

    @Test
    void threadDoesNotFindAnotherThreadsHold() {
        added("order", another);

        assertThat(held.ofCurrentThread("order")).isEmpty();
        assertThat(held.size()).isEqualTo(1);
    }

    @Test
    void holdWithoutAThreadIsKeptButReenteredByNobody() {
        LeaseHold hold = hold("order");
        held.add(hold, me, Reentry.NONE);

        assertThat(held.ofCurrentThread("order")).isEmpty();
        assertThat(hold.acquiredBy()).isSameAs(me);
        assertThat(held.size()).isEqualTo(1);
        held.unbind(hold);
        held.remove(hold);
        assertThat(held.size()).isZero();
    }

    @Test
    void unboundHoldIsStillHeld() {
        LeaseHold hold = added("order", me);

        held.unbind(hold);

        assertThat(held.ofCurrentThread("order")).isEmpty();
        assertThat(held.size()).isEqualTo(1);
        assertThat(hold.lifetime().isLost()).isFalse();
    }

    @Test
    void removedHoldIsForgotten() {
        LeaseHold hold = added("order", me);

        held.remove(hold);
        held.remove(hold);

        assertThat(held.ofCurrentThread("order")).isEmpty();
        assertThat(held.size()).isZero();
    }

    @Test
    void lostHoldIsReenteredByNobodyButKeptUntilItIsReleased() {
        LeaseHold hold = added("order", me);

        hold.lifetime().lose(LossCause.TAKEN_OVER);

        assertThat(held.ofCurrentThread("order")).isEmpty();
        assertThat(held.size()).isEqualTo(1);
    }

    @Test
    void holdWhoseLeaseIsOverIsUnboundWhenThatIsReported() {
        LeaseHold hold = added("order", me);
        passLease();

        assertThat(held.ofCurrentThread("order")
                        .filter(found -> found.lifetime().expireIfOver()))
                .containsSame(hold);
        assertThat(held.ofCurrentThread("order")).isEmpty();
    }

    @Test
    void endOfAFormerHoldLeavesItsSuccessorBound() {
        LeaseHold former = added("order", me);
        former.lifetime().lose(LossCause.TAKEN_OVER);
        LeaseHold successor = added("order", me);

        held.unbind(former);
        held.remove(former);

        assertThat(held.ofCurrentThread("order")).containsSame(successor);
        assertThat(held.size()).isEqualTo(1);
    }

    @Test
    void lostHoldsThatNobodyReleasedAreSweptOut() {
        List<LeaseHold> forgotten = new ArrayList<>();
        for (int i = 0; i < 1024; i++) {
            forgotten.add(added("forgotten-" + i, me));
        }
        passLease();
        assertThat(held.size()).isEqualTo(1024);

        LeaseHold alive = added("alive", me);

        assertThat(held.size()).isEqualTo(1);
        assertThat(held.ofCurrentThread("alive")).containsSame(alive);
        assertThat(forgotten)
                .allSatisfy(
                        hold -> assertThat(held.ofCurrentThread(hold.name())).isEmpty());
    }

    @Test
    void holdsThatAreAliveAreNeverSweptOut() {
        for (int i = 0; i < 3000; i++) {
            added("alive-" + i, me);
        }

        assertThat(held.size()).isEqualTo(3000);
        assertThat(held.ofCurrentThread("alive-0")).isPresent();
    }

    @Test
    void closedServiceHandsOutItsHoldsAndTakesNoMore() {
        LeaseHold order = added("order", me);
        LeaseHold report = added("report", another);
        engine.context().phase().checkOpen();

        assertThat(held.close()).containsExactlyInAnyOrder(order, report);
        assertThatIllegalStateException()
                .isThrownBy(engine.context().phase()::checkOpen)
                .withMessage("The lock service is closed");
        assertThatIllegalStateException().isThrownBy(() -> added("late", me));
    }

    /** Either the closing thread sees the hold, or the acquiring thread sees that the service is closed: here both. */
    @Test
    void holdThatComesTooLateIsSeenByBothSides() {
        held.close();
        LeaseHold late = hold("late");

        assertThatIllegalStateException().isThrownBy(() -> held.add(late, me, Reentry.BY_THREAD));

        assertThat(held.close()).containsExactly(late);
    }

    @Test
    void holdsAreCountedAndValidByTheLocalClockLessAThousandth() {
        LeaseHold hold = added("order", me);

        assertThat(hold.lifetime().remaining()).isEqualTo(LEASE.minus(LEASE.dividedBy(1000)));
        ticker.advance(hold.lifetime().remaining().minusNanos(1));
        assertThat(hold.lifetime().remaining()).isEqualTo(Duration.ofNanos(1));
        assertThat(hold.lifetime().isLost()).isFalse();
        ticker.advance(Duration.ofNanos(1));
        assertThat(hold.lifetime().remaining()).isEqualTo(Duration.ZERO);
        assertThat(hold.lifetime().isLost()).isTrue();
        assertThat(hold.lifetime().lossException()).hasMessage("Lock 'order' was lost: its lease expired");
    }

    @Test
    void lossIsFinalAndKeepsItsFirstReason() {
        LeaseHold hold = added("order", me);

        hold.lifetime().lose(LossCause.TAKEN_OVER);
        passLease();
        hold.lifetime().lose(LossCause.FORCED);
        ticker.advance(LEASE.multipliedBy(-2));

        assertThat(hold.lifetime().remaining()).isEqualTo(Duration.ZERO);
        assertThat(hold.lifetime().lossException())
                .hasMessage("Lock 'order' was lost: its row no longer belongs to its holder");
        assertThat(hold.lifetime().lossException().lockName()).isEqualTo(Optional.of("order"));
    }
}
