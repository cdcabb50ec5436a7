package io.github.holdfast.service;

import static io.github.holdfast.service.Interleavings.check;
import static io.github.holdfast.service.Interleavings.granted;
import static io.github.holdfast.service.Interleavings.hold;
import static io.github.holdfast.service.Interleavings.internals;
import static io.github.holdfast.service.Interleavings.together;
import static io.github.holdfast.service.Interleavings.tryOut;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.service.HeldLocks.Reentry;
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
@Interleavings.OnRequest
class HeldLocksInterleavingTest {

    private static final String NAME = "order";

    /** What is asked of the registry; so that the same can be asked of one that is wrong. */
    interface Registry {
        void add(Hold hold, Thread thread);

        void remove(Hold hold);

        List<Hold> close();

        List<Hold> ofCurrentThread();

        @Nullable
        Hold ofName(String name);

        void begin(Pending acquisition);

        void end(Pending acquisition);

        List<LockEntity> unknown(List<LockEntity> rows);
    }

    private static final class Real implements Registry {
        private final HeldLocks held = new HeldLocks();

        @Override
        public void add(Hold hold, Thread thread) {
            held.add(hold, thread, Reentry.BY_THREAD);
        }

        @Override
        public void remove(Hold hold) {
            held.remove(hold);
        }

        @Override
        public List<Hold> close() {
            return held.close();
        }

        @Override
        public List<Hold> ofCurrentThread() {
            return held.ofCurrentThread();
        }

        @Override
        public @Nullable Hold ofName(String name) {
            return held.ofName(name).orElse(null);
        }

        @Override
        public void begin(Pending acquisition) {
            held.begin(acquisition);
        }

        @Override
        public void end(Pending acquisition) {
            held.end(acquisition);
        }

        @Override
        public List<LockEntity> unknown(List<LockEntity> rows) {
            return held.unknown(rows);
        }
    }

    /** Each method has a mistake that only another thread at the wrong moment brings to light. */
    private static final class Wrong implements Registry {
        private final Set<Hold> holds = ConcurrentHashMap.newKeySet();
        private final Map<String, Hold> byName = new ConcurrentHashMap<>();
        private final Map<Thread, Set<Hold>> ofThread = new ConcurrentHashMap<>();
        private final Set<Pending> pending = ConcurrentHashMap.newKeySet();
        private volatile boolean closed;

        @Override
        public void add(Hold hold, Thread thread) {
            check(!closed, "looks before, and not afterwards");
            holds.add(hold);
            byName.put(hold.name(), hold);
            hold.acquiredBy(thread);
            // The set that is found may be taken out before the hold is in it.
            ofThread.computeIfAbsent(thread, key -> ConcurrentHashMap.newKeySet())
                    .add(hold);
        }

        @Override
        public void remove(Hold hold) {
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
        public List<Hold> close() {
            closed = true;
            return List.copyOf(holds);
        }

        @Override
        public List<Hold> ofCurrentThread() {
            return List.copyOf(ofThread.getOrDefault(Thread.currentThread(), Set.of()));
        }

        @Override
        public @Nullable Hold ofName(String name) {
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

        private static Attempt.Granted granted(LockEntity row) {
            return new Attempt.Granted(row, null, 0, Duration.ZERO, 0, false, 0);
        }
    }

    /** A scenario, of a registry that is new. */
    private static void holdsFor(Supplier<Registry> registry, Scenario scenario) {
        tryOut(() -> scenario.run(registry.get(), internals()));
    }

    private interface Scenario {
        void run(Registry registry, Internals internals) throws Exception;
    }

    private static void isFoundWrong(Scenario scenario) {
        assertThatExceptionOfType(LincheckAssertionError.class).isThrownBy(() -> holdsFor(Wrong::new, scenario));
    }

    private static final Scenario CLOSED_WHILE_ACQUIRED = (registry, internals) -> {
        Hold hold = hold(internals, NAME, "me");
        boolean[] isRefused = {false};
        List<Hold> seen = new ArrayList<>();
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

    private static final Scenario RELEASED_BY_ANOTHER_THREAD = (registry, internals) -> {
        Thread me = Thread.currentThread();
        Hold first = hold(internals, NAME, "first");
        Hold second = hold(internals, "report", "second");
        registry.add(first, me);
        together(() -> registry.add(second, me), () -> registry.remove(first));
        check(
                registry.ofCurrentThread().equals(List.of(second)),
                "the thread has not the hold that it has not released");
    };

    private static final Scenario SUCCEEDED = (registry, internals) -> {
        Hold former = hold(internals, NAME, "former");
        Hold next = hold(internals, NAME, "next");
        registry.add(former, Thread.currentThread());
        together(() -> registry.add(next, Thread.currentThread()), () -> registry.remove(former));
        check(registry.ofName(NAME) == next, "others do not wait for the one who has the lock");
    };

    private static final Scenario RECONCILED_WHILE_ACQUIRED = (registry, internals) -> {
        Pending acquisition = new Pending(NAME, "me", "me", Interleavings.STANDSTILL);
        Hold hold = hold(internals, NAME, "me");
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
