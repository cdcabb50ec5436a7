package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import io.github.holdfast.service.engine.acquire.HoldContext;
import io.github.holdfast.service.engine.acquire.HoldContext.TakeoverPolicy;
import io.github.holdfast.service.engine.hold.ExpiryMonitor;
import io.github.holdfast.service.engine.hold.HoldCollaborators;
import io.github.holdfast.service.engine.hold.HoldRegistry;
import io.github.holdfast.service.engine.hold.KeptLocks;
import io.github.holdfast.service.engine.hold.LeaseHold;
import io.github.holdfast.service.engine.hold.PendingAcquisitions;
import io.github.holdfast.service.engine.hold.PendingAcquisitions.Pending;
import io.github.holdfast.service.engine.hold.Reconciliation;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.node.Node.Timing;
import io.github.holdfast.service.engine.node.NodeObserver;
import io.github.holdfast.service.engine.row.FreeRowCache;
import io.github.holdfast.service.engine.row.InDoubtWrites;
import io.github.holdfast.service.engine.row.LockAccess;
import io.github.holdfast.service.engine.rowlock.RowHold;
import io.github.holdfast.service.engine.rowlock.RowTransactions;
import io.github.holdfast.service.engine.runtime.Deadline;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.runtime.LockLog;
import io.github.holdfast.service.engine.runtime.ProcessIdentity;
import io.github.holdfast.service.engine.runtime.ServicePhase;
import io.github.holdfast.service.engine.runtime.ServiceSettings;
import io.github.holdfast.service.engine.runtime.Ticker;
import io.github.holdfast.service.engine.share.Downgrade;
import io.github.holdfast.service.engine.share.JoinableShares;
import io.github.holdfast.service.engine.tx.TransactionGuard;
import io.github.holdfast.service.engine.wait.LocalQueue;
import io.github.holdfast.service.engine.wait.WaiterNotifier;
import io.github.holdfast.service.engine.wait.WaiterThread;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.ConfigurableTransactionManager;

/** The components of a service from its opening to its close, and how they are wired, started and ended. Thread-safe. */
public final class EngineComponents implements AutoCloseable {

    /** How long a second close waits for the first one. */
    private static final Duration LONGEST_CLOSE = Duration.ofSeconds(10);

    private final Lock closing = new ReentrantLock();
    private final HoldContext context;
    private final RowTransactions rowTransactions;
    private final Acquirer acquirer;

    /**
     * Starts the components.
     *
     * @param store the locks; the store that is made of it is closed with the components
     * @param transactionManager the manager whose transactions are guarded; null if there is none
     */
    static EngineComponents start(
            LockStore store,
            CommitGuard guard,
            ServiceSettings settings,
            @Nullable ConfigurableTransactionManager transactionManager) {
        LockStore cancelling = store.cancellingOverdue(settings.ticker()::nanoTime);
        WaiterThread waiterThread = new WaiterThread("holdfast-waiters");
        // Before the components that start threads: the database may fail here, and no thread is left then.
        WakeUpChannel channel = cancelling.wakeUpChannel(waiterThread::hint).orElse(null);
        return new EngineComponents(
                cancelling,
                guard,
                settings,
                new ProcessIdentity(settings.application()),
                transactionManager,
                channel,
                waiterThread);
    }

    /**
     * Starts the components.
     *
     * @param identity describes this process
     * @param transactionManager the manager whose transactions are guarded; null if there is none
     * @param channel the channel of wake-ups, which this store has opened; null if the database has none
     * @param waiterThread the thread on which the channel wakes others
     */
    public EngineComponents(
            LockStore store,
            CommitGuard guard,
            ServiceSettings settings,
            ProcessIdentity identity,
            @Nullable ConfigurableTransactionManager transactionManager,
            @Nullable WakeUpChannel channel,
            WaiterThread waiterThread) {
        Ticker ticker = settings.ticker();
        ListenerDispatcher listeners = new ListenerDispatcher(settings.listeners());
        ServicePhase phase = new ServicePhase(this::isHeldByCurrentThread);
        PendingAcquisitions pending = new PendingAcquisitions();
        JoinableShares shares = new JoinableShares();
        HoldRegistry holds = new HoldRegistry(phase, shares);
        InDoubtWrites inDoubtWrites = new InDoubtWrites(store, ticker);
        NodeObserver observer =
                new NodeObserver(store, inDoubtWrites, ticker, settings.nodeLease(), settings.clockTolerance());
        Heartbeat heartbeat = new Heartbeat(
                store,
                Timing.ofLease(settings.nodeLease()),
                ticker,
                new Reconciliation(store, holds, pending, inDoubtWrites),
                observer,
                listeners,
                identity.process());
        LocalQueue queue = new LocalQueue(ticker);
        LockAccess access = new LockAccess(
                store,
                inDoubtWrites,
                new FreeRowCache(),
                queue,
                new WaiterNotifier(channel, waiterThread, settings, store, heartbeat, inDoubtWrites, queue),
                ticker);
        KeptLocks kept = new KeptLocks(settings.keepReleased(), access, heartbeat, pending);
        access.waiterNotifier().keeper(kept);
        rowTransactions = new RowTransactions(store, holds, settings.maxRowLocks(), settings.writers());
        ExpiryMonitor monitor =
                new ExpiryMonitor(holds.all(), ticker, heartbeat, inDoubtWrites, settings.leakDetection());
        TransactionGuard transactions = new TransactionGuard(
                guard,
                () -> holds.ofCurrentThread(LeaseHold.class),
                () -> holds.ofCurrentThread(RowHold.class),
                listeners);
        context = new HoldContext(
                new HoldCollaborators(access, heartbeat, holds, transactions, listeners),
                phase,
                pending,
                kept,
                shares::close,
                new TakeoverPolicy(settings.lockDelay(), settings.clockTolerance(), observer),
                identity,
                monitor,
                (hold, handle) -> new Downgrade(context(), shares, hold).of(handle));
        acquirer = new Acquirer(context, shares, rowTransactions);
        if (transactionManager != null) {
            context.transactions().listenTo(transactionManager);
        }
    }

    HoldContext context() {
        return context;
    }

    Acquirer acquirer() {
        return acquirer;
    }

    private LockAccess access() {
        return context.access();
    }

    private boolean isHeldByCurrentThread() {
        return context.holds().isHeldByCurrentThread();
    }

    /**
     * Waits until no lock is held or being acquired. From here on, only threads that hold a lock may acquire others.
     *
     * @param atMost the longest wait
     * @throws InterruptedException if the thread was interrupted
     */
    public void drain(Duration atMost) throws InterruptedException {
        context.phase().drain();
        access().waiterNotifier().beginClosing();
        context.kept().close();
        if (isInUse() && !atMost.isZero()) {
            LockLog.draining(inUse().distinct().sorted().toList(), atMost);
        }
        try (Deadline deadline = Deadline.interruptible(access().ticker(), atMost)) {
            while (isInUse() && !deadline.isOver()) {
                deadline.pause(null);
            }
        }
    }

    /** Whether a lock is held, or is being acquired. */
    private boolean isInUse() {
        return inUse().findAny().isPresent();
    }

    /** The names of the locks that are held or being acquired. */
    private Stream<String> inUse() {
        return Stream.of(
                        context.pending().all().stream().map(Pending::name),
                        context.holds().left().map(LeaseHold::name),
                        rowTransactions.left().map(RowHold::name))
                .flatMap(names -> names);
    }

    /** Ends all holds, and then the components, once; see {@link io.github.holdfast.service.LockService#close()}. */
    @Override
    public void close() {
        // Not interruptible, because a pool gives no connection to an interrupted thread. A second close waits for the
        // first one, but not for ever: it may be that of a listener, while the first one waits for what the listener's
        // thread holds.
        boolean unused = Deadline.uninterruptibly(access().ticker(), LONGEST_CLOSE, deadline -> {
            if (!deadline.lock(closing)) {
                return false;
            }
            try {
                if (!context.phase().isClosed()) {
                    end();
                }
                return true;
            } finally {
                closing.unlock();
            }
        });
    }

    private void end() {
        List<LeaseHold> holds = context.holds().close();
        access().waiterNotifier().beginClosing();
        context.kept().close();
        boolean isAnyLeft = !holds.isEmpty()
                || context.holds().isAnyBound()
                || rowTransactions.left().findAny().isPresent();
        rowTransactions.close();
        holds.forEach(hold -> hold.lifetime().lose(LossCause.SERVICE_CLOSED));
        if (!context.policy().lockDelay().isZero()) {
            // Locks that are still held through an ended node count as left by a dead holder, and get the lock delay.
            release(holds, hold -> !hold.isByLease());
        }
        context.heartbeat().close();
        release(holds, LeaseHold::isByLease);
        access().waiterNotifier().close();
        // A transaction under a lock that the close has ended must not commit, even if it begins later.
        if (!isAnyLeft) {
            context.transactions().listenNoMore();
        }
        access().inDoubtWrites().close();
        context.monitor().close();
        access().store().close();
        context.listeners().close();
    }

    /**
     * Ends the checks of transactions under holds of before, unless a thread still has a handle of such a hold.
     *
     * @return whether they have ended
     */
    boolean retire() {
        context.holds().replaced();
        boolean isBound = context.holds().isAnyBound();
        if (!isBound) {
            context.transactions().listenNoMore();
        }
        return !isBound;
    }

    /** Releases these holds; stops if the database does not answer. */
    private static void release(List<LeaseHold> holds, Predicate<LeaseHold> which) {
        for (LeaseHold hold : holds) {
            if (which.test(hold) && hold.freeOnClose() == ReleaseOutcome.UNRESOLVED) {
                return;
            }
        }
    }
}
