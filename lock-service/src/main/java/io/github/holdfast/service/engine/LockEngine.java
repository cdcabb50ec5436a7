package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.lock.WaiterInfo;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.HolderRows.HolderSnapshot;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.acquire.AcquireResult;
import io.github.holdfast.service.engine.acquire.GrantStep;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.hold.ExpiryMonitor;
import io.github.holdfast.service.engine.hold.Handle;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.hold.PendingAcquisitions.Pending;
import io.github.holdfast.service.engine.node.NodeObserver;
import io.github.holdfast.service.engine.row.InDoubtWrites;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.LockLog;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.share.PermitRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;

/** The components that acquire, keep and release the locks of one service. It opens them, ends them, and opens them again. Thread-safe. */
public final class LockEngine implements AutoCloseable {

    private final Supplier<EngineComponents> opened;
    private volatile EngineComponents components;

    /** Closed ones that still check transactions. */
    private final List<EngineComponents> former = new ArrayList<>();

    /**
     * Starts the components.
     *
     * @param store the locks
     * @param transactionManager the manager whose transactions are guarded; null if there is none
     */
    public static LockEngine start(
            LockStore store,
            CommitGuard guard,
            ServiceSettings settings,
            @Nullable ConfigurableTransactionManager transactionManager) {
        store.severalWriters().ifPresent(cluster -> LockLog.severalWriters(cluster, settings.writers()));
        LockEngine engine = new LockEngine(() -> EngineComponents.start(store, guard, settings, transactionManager));
        LockLog.started(store, engine.access().waiterNotifier().isWoken(), settings.keepReleased());
        return engine;
    }

    /**
     * Checks the database on threads like those of the service: the calling thread may have a tenant, and hand it down to
     * others.
     *
     * @throws IllegalStateException if locks would not be safe there
     */
    public static void check(LockStore store, Duration clockTolerance, Set<DatabaseRisk> accepted) {
        AtomicInteger writer = new AtomicInteger();
        Executor threads = task -> Background.threads("holdfast-start-" + writer.incrementAndGet())
                .newThread(task)
                .start();
        new DatabaseCheck(store, clockTolerance, accepted, threads, DatabaseCheck.Limits.USUAL).run();
    }

    /**
     * Opens the engine.
     *
     * @param opened starts the components, at once and when the engine is opened again
     */
    public LockEngine(Supplier<EngineComponents> opened) {
        this.opened = opened;
        components = opened.get();
    }

    public HoldContext context() {
        return components.context();
    }

    public LockAccess access() {
        return context().access();
    }

    public Acquirer acquirer() {
        return components.acquirer();
    }

    public ExpiryMonitor monitor() {
        return context().monitor();
    }

    /** Acquires a lock, and waits for it as long as the request says. {@link Locks#acquire} documents the exceptions. */
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try (Deadline deadline = Deadline.interruptible(access().ticker(), waitTime(request))) {
            return components
                    .acquirer()
                    .acquire(request, GrantStep.NONE, deadline)
                    .orElseThrow();
        }
    }

    /** Notes that this lock of the engine is held for as long as the process lives, so that the leak detection does not report it. */
    public void expectToLast(LockHandle lock) {
        ((Handle) lock).mayLast();
    }

    /** As {@link #acquire(LockRequest)}, but not interruptible. */
    public LockHandle acquireUninterruptibly(LockRequest request) {
        return Deadline.uninterruptibly(
                        access().ticker(),
                        waitTime(request),
                        deadline -> acquirer().acquire(request, GrantStep.NONE, deadline))
                .orElseThrow();
    }

    private static Duration waitTime(LockRequest request) {
        return request.waitTime().orElse(LockRequest.DEFAULT_WAIT);
    }

    /**
     * Acquires locks one after the other, within the shortest of their wait times. {@link Locks#acquireAll} documents the
     * exceptions.
     *
     * @param requests at least one; in the order of their names
     */
    public LockHandles acquireAll(List<LockRequest> requests) throws InterruptedException {
        Duration waitTime = requests.stream()
                .map(LockEngine::waitTime)
                .min(Comparator.naturalOrder())
                .orElseThrow();
        List<LockHandle> acquired = new ArrayList<>();
        try (Deadline deadline = Deadline.interruptible(access().ticker(), waitTime)) {
            for (LockRequest request : requests) {
                acquired.add(acquire(request.waitAtMost(deadline.left())));
            }
            LockHandles all = LockHandles.of(acquired);
            // The lease of an earlier one may have ended during the wait for a later one.
            if (all.remaining().isZero()) {
                all.ensureValidFor(Duration.ZERO);
            }
            return all;
        } catch (RuntimeException | Error | InterruptedException notAcquired) {
            try {
                LockHandles.of(acquired).release();
            } catch (RuntimeException | Error alsoFailed) {
                if (alsoFailed != notAcquired) {
                    notAcquired.addSuppressed(alsoFailed);
                }
            }
            throw notAcquired;
        }
    }

    /** Acquires permits, and waits for them as long as the request says. {@code Semaphore} documents the exceptions. */
    public LockHandle acquire(PermitRequest request) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        try (Deadline deadline = Deadline.interruptible(access().ticker(), waitTime(request.lock()))) {
            return acquirer().acquire(request, deadline).orElseThrow();
        }
    }

    /** Tries once to acquire permits. Not interruptible. */
    public Optional<LockHandle> tryAcquire(PermitRequest request) {
        return Deadline.uninterruptibly(
                        access().ticker(), Duration.ZERO, deadline -> acquirer().acquire(request, deadline))
                .handle();
    }

    /** Tries once to acquire a lock, and runs the step in the transaction of the grant. Not interruptible. */
    public AcquireResult tryAcquire(LockRequest request, GrantStep step) {
        return Deadline.uninterruptibly(
                access().ticker(), Duration.ZERO, deadline -> acquirer().acquire(request, step, deadline));
    }

    /**
     * Takes a lock from its holder.
     *
     * @param isMeant selects the holders that lose the lock
     * @param reason the reason for the record
     * @return the previous holder; empty if no such holder has the lock
     * @throws StoreException if the database failed
     */
    public Optional<LockInfo> forceRelease(String name, Predicate<LockInfo> isMeant, String reason) {
        return operatorActions().forceRelease(name, isMeant, reason);
    }

    /**
     * Changes the limit of a semaphore.
     *
     * @param reason the reason for the record
     * @return the limit before; empty if there is no such semaphore
     * @throws StoreException if the database failed
     */
    public OptionalInt setLimit(String semaphore, int limit, String reason) {
        return operatorActions().setLimit(semaphore, limit, reason);
    }

    /**
     * Takes the permits of one grant from their holder.
     *
     * @param reason the reason for the record
     * @return the previous holder; empty if the grant no longer stands
     * @throws StoreException if the database failed
     */
    public Optional<HolderSnapshot> forceReleasePermits(String semaphore, long fencingToken, String reason) {
        return operatorActions().forceReleasePermits(semaphore, fencingToken, reason);
    }

    private OperatorActions operatorActions() {
        return new OperatorActions(
                access(),
                context().heartbeat().lease(),
                context().policy().clockTolerance(),
                context().identity().current());
    }

    /** Returns the locks in the database. */
    public LockStore store() {
        return access().store();
    }

    /**
     * Does work that is safe to repeat, and repeats it after a conflict.
     *
     * @throws StoreException if the database failed in another way, or conflicts lasted until the limit
     */
    public <T> T untilDecided(Duration limit, Supplier<T> work) {
        return Deadline.untilDecided(access().ticker(), limit, work);
    }

    /** Waits until the condition is met, but for this long at most. Not interruptible. Returns whether it is met. */
    public boolean await(BooleanSupplier condition, Duration atMost) {
        return Deadline.uninterruptibly(access().ticker(), atMost, deadline -> {
            while (!condition.getAsBoolean() && !deadline.isOver()) {
                deadline.pause(null);
            }
            return condition.getAsBoolean();
        });
    }

    /**
     * Does work in a transaction, and repeats it until the database answers. Not interruptible.
     *
     * @throws StoreException if the database refused, or did not answer within the limit
     */
    public <T> T untilAnswered(Duration limit, Supplier<T> work) {
        return access().untilAnswered(limit, locks -> work.get());
    }

    /** Does work soon, on the thread that settles writes in doubt; see {@link InDoubtWrites#later}. */
    public void later(Runnable work) {
        access().inDoubtWrites().later(work);
    }

    /**
     * Returns a new thread that does scheduled work, and does not keep the JVM alive. It has started, so that no work waits for that.
     */
    public ScheduledExecutorService scheduler(String threadName) {
        ScheduledExecutorService scheduler = access().ticker().scheduler(threadName);
        if (scheduler instanceof ScheduledThreadPoolExecutor thread) {
            thread.prestartCoreThread();
        }
        return scheduler;
    }

    /**
     * Checks that the service is open.
     *
     * @throws IllegalStateException if it is closed
     */
    public void checkOpen() {
        context().phase().checkOpen();
    }

    /** Returns how many acquisitions are under way. */
    public int waiting() {
        return context().pending().all().size();
    }

    /** Returns how many locks and permits are held whose handles were dropped without a release. */
    public int dropped() {
        return (int)
                context().holds().all().stream().filter(LeaseHold::isDropped).count();
    }

    /** Returns how many released locks are kept. */
    public int kept() {
        return context().kept().size();
    }

    /** Returns the acquisitions under way. */
    public List<WaiterInfo> waiters() {
        return context().pending().all().stream().map(Pending::info).toList();
    }

    /** Returns how long ago the last confirmed heartbeat was sent; empty if there is no node. */
    public Optional<Duration> heartbeatAge() {
        return context().heartbeat().age();
    }

    /** Returns how long a lock without a lease stays unavailable after its release by force, at most. */
    public Duration longestForcedDelay() {
        return context().heartbeat().lease().plus(context().policy().clockTolerance());
    }

    /** See {@link NodeObserver#clockStep}. */
    public Duration clockStep() {
        return context().policy().nodes().clockStep();
    }

    /** See {@link NodeObserver#endIfDead}. */
    public boolean endIfDead(String nodeId) {
        return context().policy().nodes().endIfDead(nodeId);
    }

    /** Returns the description of this process in the holder of a lock. */
    public String process() {
        return context().identity().process();
    }

    /** See {@link EngineComponents#drain}. */
    public void drain(Duration atMost) throws InterruptedException {
        components.drain(atMost);
    }

    /** Ends all holds, and then the components; see {@link io.github.holdfast.service.LockService#close()}. */
    @Override
    public void close() {
        components.close();
    }

    /** Starts new components, unless the engine is open. Holds of the previous ones stay lost. */
    public synchronized void reopen() {
        if (components.context().phase().isClosed()) {
            former.add(components);
            former.removeIf(EngineComponents::retire);
            components = opened.get();
        }
    }
}
