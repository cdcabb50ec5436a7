package io.github.holdfast.service;

import io.github.holdfast.repository.CommitGuard;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The callers' transactions: which holds each of them runs under, and that it commits only while these stand. Thread-safe;
 * it works on the calling thread's transaction.
 *
 * <p>The transaction manager calls {@link #beforeCommit} after all other callbacks, right before the commit, and rolls back
 * if it throws.
 */
final class Transactions implements TransactionExecutionListener {

    private static final Logger LOG = LoggerFactory.getLogger(Transactions.class);

    private final CommitGuard guard;
    private final HeldLocks held;
    private final RowLocks rowLocks;
    private final Events events;
    private final TransactionWarnings warnings = new TransactionWarnings();

    Transactions(CommitGuard guard, HeldLocks held, RowLocks rowLocks, Events events) {
        this.guard = guard;
        this.held = held;
        this.rowLocks = rowLocks;
        this.events = events;
    }

    CommitGuard guard() {
        return guard;
    }

    /** Has the manager tell of its transactions from now on. Its list is replaced, because it may be in use just now. */
    void listenTo(ConfigurableTransactionManager manager) {
        List<TransactionExecutionListener> listeners = new ArrayList<>(manager.getTransactionExecutionListeners());
        listeners.add(this);
        manager.setTransactionExecutionListeners(listeners);
    }

    void listenNoMoreTo(ConfigurableTransactionManager manager) {
        List<TransactionExecutionListener> listeners = new ArrayList<>(manager.getTransactionExecutionListeners());
        listeners.remove(this);
        manager.setTransactionExecutionListeners(listeners);
    }

    // Called by the transaction manager

    /** Before the transaction reads: an unanswered commit of an earlier one under the same lock may happen later. */
    @Override
    public void beforeBegin(TransactionExecution transaction) {
        held.ofCurrentThread().forEach(Hold::awaitDecision);
    }

    @Override
    public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
        if (beginFailure == null && TransactionSynchronizationManager.isSynchronizationActive()) {
            TransactionScope scope =
                    begin(transaction.isReadOnly() ? TransactionScope.Kind.READ_ONLY : TransactionScope.Kind.GUARDED);
            scope.begin(held.ofCurrentThread(), guard.loadedEntities());
            rowLocks.ofCurrentThread().forEach(scope::add);
        }
    }

    @Override
    public void beforeCommit(TransactionExecution transaction) {
        scope().ifPresent(scope -> {
            // Also what was acquired in a transaction inside this one, and is still held.
            held.ofCurrentThread().forEach(scope::add);
            check(scope);
        });
    }

    private void check(TransactionScope scope) {
        try {
            scope.check(guard);
        } catch (LockLostException | LockStoreException refused) {
            refused.lockName().ifPresent(name -> events.tell(listener -> listener.commitRefused(name)));
            throw refused;
        }
    }

    // Called by acquisitions and releases

    /**
     * Checks that the calling thread's transaction, if there is one, may run under a hold that was just granted.
     *
     * @throws LockStoreException if it may overlook what was committed under the lock before
     */
    void checkSnapshot(Hold hold) {
        Optional<TransactionScope> scope = scope().filter(current -> hasOldSnapshot(current) && !hold.isFirst());
        if (scope.isPresent()) {
            warnings.oldSnapshot(hold.name());
            if (scope.get().isGuarded() && hold.isToBeFenced()) {
                Guarding.checkSnapshot(hold, guard, scope.get().seen());
            }
        }
    }

    /** Lets the calling thread's transaction, if there is one, run under a hold of the thread. */
    void join(Hold hold) {
        if (!isInTransaction()) {
            return;
        }
        TransactionScope scope = scopeOrForeign();
        scope.add(hold);
        if (scope.isForeign()) {
            warnings.unfenced(hold.name());
        }
    }

    /** As {@link #join}, for one whose release by the acquiring thread begins. */
    void joinForRelease(Hold hold) {
        if (isInTransaction() && hold.acquiredBy() == Thread.currentThread()) {
            scopeOrForeign().add(hold);
        }
    }

    /** As {@link #join(Hold)}, for a row lock; it ends with the transaction if that has the row locked. */
    void join(RowHold hold) {
        if (isInTransaction()) {
            TransactionScope scope = scopeOrForeign();
            scope.add(hold);
            if (hold.isCallers() && hasOldSnapshot(scope)) {
                warnings.oldSnapshot(hold.name());
            }
        }
    }

    /** As {@link #joinForRelease(Hold)}, for a row lock. */
    void joinForRelease(RowHold hold) {
        if (isInTransaction() && hold.thread() == Thread.currentThread()) {
            scopeOrForeign().add(hold);
        }
    }

    /**
     * The calling thread's transaction, for it to lock a row.
     *
     * @return empty if there is none
     * @throws IllegalStateException if there is one that cannot lock a row, or whose end would not be seen
     */
    Optional<TransactionScope> scopeForRowLock(LockRequest request) {
        if (!isInTransaction()) {
            if (request.fence() == LockRequest.Fence.REQUIRED) {
                throw new IllegalStateException("Row lock '" + request.name()
                        + "' is to be fenced, but is acquired outside a transaction: it would have one of its own");
            }
            return Optional.empty();
        }
        if (!isInGuardedTransaction()) {
            throw new IllegalStateException(
                    "Row lock '" + request.name()
                            + "' is acquired in a transaction that is read-only, or that the lock service's transaction manager did not"
                            + " begin: name that with transactionManager(...), or acquire the lock before the transaction begins");
        }
        return scope();
    }

    boolean isCurrent(TransactionScope scope) {
        return scope().filter(current -> current == scope).isPresent();
    }

    private boolean hasOldSnapshot(TransactionScope scope) {
        try {
            return scope.hasRead(guard.loadedEntities()) && guard.keepsSnapshot();
        } catch (RuntimeException broken) {
            LOG.debug("The transaction cannot be asked for its isolation level", broken);
            return false;
        }
    }

    /** The scope of the calling thread's transaction if it runs under this hold. */
    boolean isUnder(Hold hold) {
        return scope().filter(scope -> scope.contains(hold)).isPresent();
    }

    /**
     * Checks that a write of the hold's row would not wait for a transaction of the calling thread.
     *
     * @throws IllegalStateException if it would
     */
    static void checkNotLocked(Hold hold) {
        if (hold.isByLease() && hold.coverage().isLockedByCurrentThread()) {
            throw new IllegalStateException("Lock '" + hold.name()
                    + "' cannot be renewed any more in this transaction, which has locked its row with guard()");
        }
    }

    /**
     * Checks that the calling thread's transaction does not run under a lost hold of this name: what it has read under that
     * may have changed since, and no new grant makes it right.
     *
     * @throws LockLostException if it does
     */
    void checkNotLost(String name) {
        scope().flatMap(scope -> scope.lost(name)).ifPresent(hold -> {
            throw hold.lifetime().loss().exception();
        });
    }

    /**
     * Checks one hold now, in the calling thread's transaction.
     *
     * @throws IllegalStateException if there is no transaction that the guard works in
     * @throws LockLostException if it no longer stands
     * @throws LockStoreException if the database failed
     */
    void check(Hold hold) {
        if (!isInGuardedTransaction()) {
            throw new IllegalStateException(
                    "This thread is not in a read-write transaction that the transaction manager of"
                            + " the lock service began");
        }
        TransactionScope scope = scopeOrForeign();
        scope.add(hold);
        Guarding.check(List.of(hold), guard::check);
        hold.coverage().locked(scope);
    }

    /** The hold that the calling thread's transaction runs under, of this owner. */
    Optional<Hold> hold(String name, String owner) {
        return scope().flatMap(scope -> scope.hold(name, owner));
    }

    /** Notes that a release is put off until the transaction ends. */
    void deferred(Hold hold) {
        if (scope().filter(scope -> scope.defer(hold) > 1).isPresent()) {
            warnings.several(hold.name());
        }
    }

    /**
     * Checks that a guard can be installed for what this request is for.
     *
     * @throws IllegalStateException if not
     */
    void checkFence(LockRequest request) {
        if (request.fence() != LockRequest.Fence.REQUIRED) {
            return;
        }
        if (!guard.isInstalled()) {
            throw new IllegalStateException(
                    "Lock '" + request.name() + "' is to be fenced, but the lock service was built"
                            + " without the JpaTransactionManager of its persistence unit: name it with transactionManager(...)");
        }
        if (isInTransaction() && scopeOrForeign().isForeign()) {
            throw new IllegalStateException(
                    "Lock '" + request.name() + "' is to be fenced, but is acquired in a transaction"
                            + " that the transaction manager of the lock service did not begin");
        }
    }

    /** Whether the calling thread's transaction, or if there is none the next one, commits only while the hold stands. */
    boolean isFenced(Hold hold) {
        if (!guard.isInstalled() || !hold.isToBeFenced()) {
            return false;
        }
        return isInTransaction() ? isInGuardedTransaction() && isUnder(hold) : true;
    }

    private boolean isInGuardedTransaction() {
        return isInTransaction()
                && guard.isInTransaction()
                && scope().filter(TransactionScope::isGuarded).isPresent();
    }

    private static boolean isInTransaction() {
        return TransactionSynchronizationManager.isActualTransactionActive()
                && TransactionSynchronizationManager.isSynchronizationActive();
    }

    private Optional<TransactionScope> scope() {
        if (!TransactionSynchronizationManager.isSynchronizationActive()) {
            return Optional.empty();
        }
        return TransactionSynchronizationManager.getSynchronizations().stream()
                .filter(TransactionScope.class::isInstance)
                .map(TransactionScope.class::cast)
                .filter(scope -> scope.isOf(this))
                .findFirst();
    }

    /** Of a transaction whose begin the manager has not told, nothing else will be told either. */
    private TransactionScope scopeOrForeign() {
        return scope().orElseGet(() -> begin(TransactionScope.Kind.FOREIGN));
    }

    private TransactionScope begin(TransactionScope.Kind kind) {
        TransactionScope scope = new TransactionScope(this, kind);
        TransactionSynchronizationManager.registerSynchronization(scope);
        return scope;
    }
}
