package io.github.holdfast.service.engine.hold;

import static io.github.holdfast.service.engine.hold.Interleavings.check;
import static io.github.holdfast.service.engine.hold.Interleavings.context;
import static io.github.holdfast.service.engine.hold.Interleavings.granted;
import static io.github.holdfast.service.engine.hold.Interleavings.hold;
import static io.github.holdfast.service.engine.hold.Interleavings.together;
import static io.github.holdfast.service.engine.hold.Interleavings.tryOut;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.hold.HoldRegistry.Reentry;
import io.github.holdfast.service.engine.hold.PendingAcquisitions.Pending;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import io.github.holdfast.service.engine.share.JoinableShares;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jetbrains.lincheck.LincheckAssertionError;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Threads that add, remove and look at holds at the same time, in all orders of their steps. */
@Interleavings.Nightly
class HoldRegistryInterleavingTest {

    private static final String NAME = "order";

    /** What is asked of the registry; so that the same can be asked of one that is wrong. */
    interface Registry {
        void add(LeaseHold hold, Thread thread);

        void remove(LeaseHold hold);

        List<LeaseHold> close();

        List<LeaseHold> ofCurrentThread();

        @Nullable
        LeaseHold ofName(String name);

        void begin(Pending acquisition);

        void end(Pending acquisition);

        List<LockEntity> unknown(List<LockEntity> rows);
    }

    private static final class Real implements Registry {
        private final PendingAcquisitions pending = new PendingAcquisitions();
        private final HoldRegistry held = new HoldRegistry(new ServicePhase(() -> false), new JoinableShares());

        @Override
        public void add(LeaseHold hold, Thread thread) {
            held.add(hold, thread, Reentry.BY_THREAD);
        }

        @Override
        public void remove(LeaseHold hold) {
            held.remove(hold);
        }

        @Override
        public List<LeaseHold> close() {
            return held.close();
        }

        @Override
        public List<LeaseHold> ofCurrentThread() {
            return held.ofCurrentThread(LeaseHold.class);
        }

        @Override
        public @Nullable LeaseHold ofName(String name) {
            return held.ofName(name).orElse(null);
        }

        @Override
        public void begin(Pending acquisition) {
            pending.begin(acquisition);
        }

        @Override
        public void end(Pending acquisition) {
            pending.end(acquisition);
        }

        @Override
        public List<LockEntity> unknown(List<LockEntity> rows) {
            return held.unknown(rows, Grant::of, pending.owners());
        }
    }

    /** Each method has a mistake that only another thread at the wrong moment brings to light. */
    private static final class Wrong implements Registry {
        private final Set<LeaseHold> holds = ConcurrentHashMap.newKeySet();
        private final Map<String, LeaseHold> byName = new ConcurrentHashMap<>();
        private final Map<Thread, Set<LeaseHold>> ofThread = new ConcurrentHashMap<>();
        private final Set<Pending> pending = ConcurrentHashMap.newKeySet();
        private volatile boolean closed;

        @Override
        public void add(LeaseHold hold, Thread thread) {
            check(!closed, "looks before, and not afterwards");
            holds.add(hold);
            byName.put(hold.name(), hold);
            hold.acquiredBy(thread);
            // The set that is found may be taken out before the hold is in it.
            ofThread.computeIfAbsent(thread, key -> ConcurrentHashMap.newKeySet())
                    .add(hold);
        }

        @Override
        public void remove(LeaseHold hold) {
            holds.remove(hold);
            // Whosever it is.
            byName.remove(hold.name());
            Thread thread = hold.acquiredBy();
            if (thread != null) {
                ofThread.computeIfPresent(thread, (key, ofKey) -> {
                    ofKey.remove(hold);
                    return ofKey.isEmpty() ? null : ofKey;
                });
            }
        }

        @Override
        public List<LeaseHold> close() {
            closed = true;
            return List.copyOf(holds);
        }

        @Override
        public List<LeaseHold> ofCurrentThread() {
            return List.copyOf(ofThread.getOrDefault(Thread.currentThread(), Set.of()));
        }

        @Override
        public @Nullable LeaseHold ofName(String name) {
            return byName.get(name);
        }

        @Override
        public void begin(Pending acquisition) {
            pending.add(acquisition);
        }

        @Override
        public void end(Pending acquisition) {
            pending.remove(acquisition);
        }

        /** Holds first: an acquisition that ends in between is in neither. */
        @Override
        public List<LockEntity> unknown(List<LockEntity> rows) {
            List<LockEntity> unknown = new ArrayList<>(rows);
            holds.forEach(hold ->
                    unknown.removeIf(row -> hold.grant().equals(granted(row).grant())));
            pending.forEach(
                    acquisition -> unknown.removeIf(row -> acquisition.name().equals(row.name())));
            return unknown;
        }

        private static NewGrant.OfLock granted(LockEntity row) {
            return new NewGrant.OfLock(row, null, 0, Duration.ZERO, 0, false, 0);
        }
    }

    /** A scenario, of a registry that is new. */
    private static void holdsFor(Supplier<Registry> registry, Scenario scenario) {
        tryOut(() -> scenario.run(registry.get(), context()));
    }

    private static Pending pending() {
        return new Pending() {
            @Override
            public String name() {
                return NAME;
            }

            @Override
            public String owner() {
                return "me";
            }

            @Override
            public WaiterInfo info() {
                return new WaiterInfo(NAME, "me", Duration.ZERO);
            }
        };
    }

    private interface Scenario {
        void run(Registry registry, HoldContext context) throws Exception;
    }

    private static void isFoundWrong(Scenario scenario) {
        assertThatExceptionOfType(LincheckAssertionError.class).isThrownBy(() -> holdsFor(Wrong::new, scenario));
    }

    private static final Scenario CLOSED_WHILE_ACQUIRED = (registry, context) -> {
        LeaseHold hold = hold(context, NAME, "me");
        boolean[] isRefused = {false};
        List<LeaseHold> seen = new ArrayList<>();
        together(
                () -> {
                    try {
                        registry.add(hold, Thread.currentThread());
                    } catch (IllegalStateException closed) {
                        isRefused[0] = true;
                    }
                },
                () -> seen.addAll(registry.close()));
        check(isRefused[0] || seen.contains(hold), "neither is the hold refused nor does whoever closes see it");
    };

    private static final Scenario RELEASED_BY_ANOTHER_THREAD = (registry, context) -> {
        Thread me = Thread.currentThread();
        LeaseHold first = hold(context, NAME, "first");
        LeaseHold second = hold(context, "report", "second");
        registry.add(first, me);
        together(() -> registry.add(second, me), () -> registry.remove(first));
        check(
                registry.ofCurrentThread().equals(List.of(second)),
                "the thread has not the hold that it has not released");
    };

    private static final Scenario SUCCEEDED = (registry, context) -> {
        LeaseHold former = hold(context, NAME, "former");
        LeaseHold next = hold(context, NAME, "next");
        registry.add(former, Thread.currentThread());
        together(() -> registry.add(next, Thread.currentThread()), () -> registry.remove(former));
        check(registry.ofName(NAME) == next, "others do not wait for the one who has the lock");
    };

    private static final Scenario RECONCILED_WHILE_ACQUIRED = (registry, context) -> {
        Pending acquisition = pending();
        LeaseHold hold = hold(context, NAME, "me");
        registry.begin(acquisition);
        List<LockEntity> unknown = new ArrayList<>();
        together(
                () -> {
                    registry.add(hold, Thread.currentThread());
                    registry.end(acquisition);
                },
                () -> unknown.addAll(
                        registry.unknown(List.of(granted(NAME, "me").row()))));
        check(unknown.isEmpty(), "a row is nobody's and would be freed, although it is being acquired or held");
    };

    @Test
    void aHoldIsRefusedOrSeenByWhoeverClosesTheService() {
        holdsFor(Real::new, CLOSED_WHILE_ACQUIRED);
        isFoundWrong(CLOSED_WHILE_ACQUIRED);
    }

    @Test
    void aThreadHasTheHoldsThatItHasNotReleased() {
        holdsFor(Real::new, RELEASED_BY_ANOTHER_THREAD);
        isFoundWrong(RELEASED_BY_ANOTHER_THREAD);
    }

    @Test
    void othersWaitForTheOneWhoHasTheLock() {
        holdsFor(Real::new, SUCCEEDED);
        isFoundWrong(SUCCEEDED);
    }

    @Test
    void whatIsAcquiredMeanwhileIsNotTakenForNobodys() {
        holdsFor(Real::new, RECONCILED_WHILE_ACQUIRED);
        isFoundWrong(RECONCILED_WHILE_ACQUIRED);
    }
}
