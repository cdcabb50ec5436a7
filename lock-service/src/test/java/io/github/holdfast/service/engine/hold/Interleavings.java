package io.github.holdfast.service.engine.hold;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.acquire.LeaseAcquisition;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.row.NewGrant;
import io.github.holdfast.service.engine.runtime.ProcessIdentity;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.share.JoinableShares;
import io.github.holdfast.service.engine.wait.LocalQueue;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jetbrains.lincheck.Lincheck;
import org.junit.jupiter.api.Tag;

/**
 * Tries the interleavings of a few threads, up to a number of them. Time stands still. A wake-up that is lost is not noticed: Lincheck
 * lets a parked thread go on without one.
 */
public final class Interleavings {

    private static final int INVOCATIONS = 100;

    public static final Ticker STANDSTILL = new Ticker() {
        @Override
        public long nanoTime() {
            return 0;
        }

        @Override
        public void park(Object blocker, long nanos) {
            LockSupport.park(blocker);
        }
    };

    /** It takes half a minute, and longer than Lincheck waits where the machine is busy. */
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.TYPE)
    @Tag("nightly")
    public @interface Nightly {}

    private Interleavings() {}

    /** What one thread does. */
    public interface Work {
        void run() throws Exception;
    }

    /**
     * Tries them.
     *
     * @param scenario from its beginning to the check at its end
     * @throws org.jetbrains.lincheck.LincheckAssertionError if the scenario has failed, with the trace of that interleaving
     */
    public static void tryOut(Work scenario) {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            try {
                scenario.run();
            } catch (Exception thrown) {
                throw new AssertionError(thrown);
            }
        });
    }

    /** Inside a scenario: runs the threads, and waits for all of them. */
    public static void together(Work... works) throws Exception {
        AtomicReference<Exception> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (Work work : works) {
            Thread thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Exception thrown) {
                    failure.set(thrown);
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (failure.get() != null) {
            throw failure.get();
        }
    }

    public static void check(boolean isSo, String what) {
        if (!isSo) {
            throw new IllegalStateException(what);
        }
    }

    /** What holds share, of which only the registry and the queue are used. */
    @SuppressWarnings("NullAway")
    static HoldContext context() {
        ServicePhase phase = new ServicePhase(() -> false);
        LockAccess access = new LockAccess(null, null, null, new LocalQueue(STANDSTILL), null, STANDSTILL);
        JoinableShares shares = new JoinableShares();
        PendingAcquisitions pending = new PendingAcquisitions();
        return new HoldContext(
                new HoldCollaborators(access, null, new HoldRegistry(phase, shares), null, null),
                phase,
                pending,
                new KeptLocks(null, access, null, pending),
                shares::close,
                new TakeoverPolicy(Duration.ZERO, Duration.ZERO, null),
                new ProcessIdentity(""),
                null,
                LeaseHold.Downgrader.REFUSE);
    }

    static NewGrant.OfLock granted(String name, String owner) {
        LockEntity row = new LockEntity(name, 7).granted(owner, null, null);
        return new NewGrant.OfLock(row, null, 0, Duration.ofSeconds(30), 0, false, 0);
    }

    static LeaseHold hold(HoldContext context, String name, String owner) {
        return LeaseAcquisition.hold(context, LockRequest.of(name).lease(Duration.ofSeconds(30)), granted(name, owner));
    }
}
