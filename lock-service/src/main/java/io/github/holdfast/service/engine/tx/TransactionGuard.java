package io.github.holdfast.service.engine.tx;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.store.CommitGuard;
import io.github.holdfast.service.engine.runtime.ListenerDispatcher;
import io.github.holdfast.service.engine.tx.GuardedHold.Granted;
import io.github.holdfast.service.engine.tx.GuardedHold.OfRow;
import jakarta.persistence.EntityManager;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Fences callers' transactions: each commits only while the holds stand under which it runs. Thread-safe; its methods work on the
 * calling thread's transaction.
 *
 * <p>The transaction manager calls {@link #beforeCommit} after all other callbacks, right before the commit. It rolls back if
 * that method throws.
 */
public final class TransactionGuard implements TransactionExecutionListener {

    private static final Logger LOG = LoggerFactory.getLogger(TransactionGuard.class);

    private final CommitGuard guard;
    private final Supplier<List<? extends Granted>> held;
    private final Supplier<List<? extends OfRow>> rowLocks;
    private final ListenerDispatcher listeners;
    private final TransactionWarnings warnings = new TransactionWarnings();

    /** The manager that reports its transactions; null if there is none. */
    private volatile @Nullable ConfigurableTransactionManager manager;

    /**
     * Creates a guard.
     *
     * @param held returns the holds of the calling thread, with those that are lost and still keep its transactions from committing
     * @param rowLocks does the same for row locks
     */
    public TransactionGuard(
            CommitGuard guard,
            Supplier<List<? extends Granted>> held,
            Supplier<List<? extends OfRow>> rowLocks,
            ListenerDispatcher listeners) {
        this.guard = guard;
        this.held = held;
        this.rowLocks = rowLocks;
        this.listeners = listeners;
    }

    public CommitGuard guard() {
        return guard;
    }

    /**
     * Registers as a listener of the manager's transactions. Replaces the manager's list, because another thread may be reading
     * it.
     */
    public void listenTo(ConfigurableTransactionManager manager) {
        this.manager = manager;
        List<TransactionExecutionListener> listeners = new ArrayList<>(manager.getTransactionExecutionListeners());
        listeners.add(this);
        manager.setTransactionExecutionListeners(listeners);
    }

    /** Ends what {@link #listenTo} has begun, if anything. */
    public void listenNoMore() {
        ConfigurableTransactionManager reporting = manager;
        if (reporting != null) {
            List<TransactionExecutionListener> listeners =
                    new ArrayList<>(reporting.getTransactionExecutionListeners());
            listeners.remove(this);
            reporting.setTransactionExecutionListeners(listeners);
        }
    }

    // Called by the transaction manager

    /**
     * Waits before the transaction reads: an unanswered commit of an earlier transaction under the same lock may still happen.
     */
    @Override
    public void beforeBegin(TransactionExecution transaction) {
        held.get().forEach(Granted::awaitDecision);
    }

    @Override
    public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
        if (beginFailure == null
                && TransactionSynchronizationManager.isSynchronizationActive()
                && !isInnerOfSeparate(transaction)) {
            TransactionScope scope = begin(transaction.isReadOnly() ? TransactionScope.Kind.READ_ONLY : ofManager());
            scope.begin(held.get(), guard.loadedEntities());
            rowLocks.get().forEach(scope::add);
        }
    }

    /** Whether it is a savepoint. The outer transaction's commit is checked. */
    private boolean isInnerOfSeparate(TransactionExecution transaction) {
        return transaction.isNested() && !guard.isInstalled();
    }

    private TransactionScope.Kind ofManager() {
        return guard.isInstalled() ? TransactionScope.Kind.GUARDED : TransactionScope.Kind.SEPARATE;
    }

    @Override
    public void beforeCommit(TransactionExecution transaction) {
        // One that is marked for rollback commits nothing, and must fail as it would without a lock. The status of
        // Spring may be marked too late, in another beforeCommit: then Spring commits.
        if (isInnerOfSeparate(transaction) || guard.isMarkedForRollback()) {
            return;
        }
        scope().ifPresent(scope -> {
            // Includes locks that were acquired in an inner transaction, or outside, and are still held.
            held.get().forEach(scope::add);
            rowLocks.get().forEach(scope::add);
            check(scope);
        });
    }

    private void check(TransactionScope scope) {
        try {
            scope.check();
        } catch (LockLostException | LockStoreException refused) {
            refused.lockName().ifPresent(name -> listeners.tell(listener -> listener.commitRefused(name)));
            throw refused;
        }
    }

    // Called by acquisitions and releases

    /**
     * Checks that the calling thread's transaction, if there is one, may run under a new hold.
     *
     * @throws LockStoreException if the transaction may miss earlier commits under the lock
     */
    public void checkSnapshot(Granted hold) {
        Optional<TransactionScope> scope = scope().filter(current -> hasOldSnapshot(current) && !hold.isFirst());
        if (scope.isPresent()) {
            warnings.oldSnapshot(hold.name());
            if (scope.get().isGuarded() && hold.requiresFence()) {
                TransactionScope.checkSnapshot(hold, guard, scope.get().seen());
            }
        }
    }

    /** Adds a hold of the calling thread to its transaction, if there is one. */
    public void join(Granted hold) {
        if (!isInTransaction()) {
            return;
        }
        TransactionScope scope = scopeOrForeign();
        if (scope.delaysRelease()) {
            warnings.several(hold.name());
        }
        scope.add(hold);
        if (scope.isForeign()) {
            warnings.unfenced(hold.name());
        }
    }

    /**
     * As {@link #join}, before a nested acquisition writes its count, if that write would make the transaction's commit fail. The
     * transaction may have been suspended when the lock was acquired.
     *
     * @return whether the transaction runs under the hold now
     */
    public boolean joinIfChecked(Granted hold) {
        boolean isChecked = hold.requiresFence() && isInGuardedTransaction();
        if (isChecked) {
            scopeOrForeign().add(hold);
        }
        return isChecked && isUnder(hold);
    }

    /** As {@link #join}, at the start of a release. Only the acquiring thread's transaction joins. */
    public void joinForRelease(Granted hold) {
        if (isInTransaction() && hold.acquiredBy() == Thread.currentThread()) {
            scopeOrForeign().add(hold);
        }
    }

    /** As {@link #join(Granted)}, for a row lock. The row lock ends with the transaction, if that has locked the row. */
    public void join(OfRow hold) {
        if (isInTransaction()) {
            TransactionScope scope = scopeOrForeign();
            scope.add(hold);
            if (hold.isCallers() && hasOldSnapshot(scope)) {
                warnings.oldSnapshot(hold.name());
            }
        }
    }

    /** As {@link #joinForRelease(Granted)}, for a row lock. */
    public void joinForRelease(OfRow hold) {
        if (isInTransaction() && hold.acquiredBy() == Thread.currentThread()) {
            scopeOrForeign().add(hold);
        }
    }

    /**
     * Returns the calling thread's transaction, which is to lock a row.
     *
     * @return empty if there is none
     * @throws IllegalStateException if the transaction cannot lock a row, or the service would not notice its end
     */
    public Optional<TransactionScope> scopeForRowLock(LockRequest request) {
        if (!isInTransaction()) {
            if (request.isFenceRequired()) {
                throw new IllegalStateException("Row lock '" + request.name()
                        + "' requires a fence, but is acquired outside a transaction: it would have one of its own");
            }
            return Optional.empty();
        }
        if (!isInGuardedTransaction()) {
            String why = scope().filter(TransactionScope::isGuarded)
                    .map(TransactionScope::whyUnfenced)
                    .orElse(
                            "it is read-only, or the lock service's transaction manager did not begin it, or that manager is not of the"
                                    + " locks' persistence unit. Name its manager with transactionManager(...), or acquire the lock before the"
                                    + " transaction begins");
            throw new IllegalStateException(
                    "Row lock '" + request.name() + "' cannot be acquired in this transaction: " + why);
        }
        return scope();
    }

    public boolean isCurrent(TransactionScope scope) {
        return scope().filter(current -> current == scope).isPresent();
    }

    private boolean hasOldSnapshot(TransactionScope scope) {
        try {
            return scope.hasRead(guard.loadedEntities()) && guard.keepsSnapshot();
        } catch (RuntimeException broken) {
            LOG.debug("The transaction's isolation level could not be read", broken);
            return false;
        }
    }

    /** Whether the calling thread's transaction runs under this hold, and no other transaction does. */
    public boolean isOnlyUnder(Granted hold) {
        return scope().filter(hold.holdTransactions()::isOnly).isPresent();
    }

    /** Whether the calling thread's transaction runs under this hold. */
    public boolean isUnder(Granted hold) {
        return scope().filter(scope -> scope.contains(hold)).isPresent();
    }

    /**
     * Checks that a write of the hold's row would not wait for a transaction of the calling thread.
     *
     * @throws IllegalStateException if it would
     */
    public static void checkNotLocked(Granted hold) {
        if (hold.isByLease() && hold.holdTransactions().isLockedByCurrentThread()) {
            throw new IllegalStateException("Lock '" + hold.name()
                    + "' cannot be renewed in this transaction any more, because guard() has locked its row. A rollback to a"
                    + " savepoint does not change that. Renew it before guard(), or after the transaction");
        }
    }

    /**
     * Checks that the calling thread's transaction does not run under a lost hold of this name. The data that it read under that
     * hold may have changed since, and a new grant does not correct that.
     *
     * @throws LockLostException if it does
     */
    public void checkNotLost(String name) {
        scope().flatMap(scope -> scope.lost(name)).ifPresent(hold -> {
            throw hold.lossException();
        });
    }

    /**
     * Checks one hold now, in the calling thread's transaction.
     *
     * @throws IllegalStateException if the calling thread has no transaction in which the guard works
     * @throws LockLostException if the hold no longer stands
     * @throws LockStoreException if the database failed
     */
    public void check(Granted hold) {
        if (!isInGuardedTransaction()) {
            throw new IllegalStateException(
                    "This thread is not in a read-write transaction of the locks' persistence unit that the lock service's transaction"
                            + " manager began");
        }
        TransactionScope scope = scopeOrForeign();
        scope.add(hold);
        if (hold.holdTransactions().isPassedOn()) {
            throw hold.lossException();
        }
        scope.checkLateHolds();
        TransactionScope.check(List.of(hold), guard::check);
        hold.holdTransactions().locked(scope);
    }

    /**
     * Checks one hold now, in the transaction of an entity manager.
     *
     * @throws IllegalStateException if the hold was revived, and the transaction keeps a snapshot
     * @throws LockLostException if the hold no longer stands
     * @throws LockStoreException if the database failed
     */
    public void check(Granted hold, EntityManager entityManager) {
        if (isInGuardedTransaction() && guard.isInTransactionOf(entityManager)) {
            check(hold);
            return;
        }
        TransactionScope.check(List.of(hold), grants -> {
            noteUnreported(hold, entityManager);
            return guard.check(grants, entityManager);
        });
    }

    /** Notes a transaction under a hold whose end will not be reported. */
    private void noteUnreported(Granted hold, EntityManager entityManager) {
        if (hold.isRevived() && guard.keepsSnapshot(entityManager)) {
            throw new IllegalStateException(
                    "Lock '" + hold.name()
                            + "' was kept since its last release, so its row cannot show whether this transaction began before that. Use"
                            + " READ COMMITTED, a transaction of the lock service's transaction manager, or a service that keeps nothing");
        }
        if (!hold.holdTransactions().guardOutside()) {
            throw hold.lossException();
        }
    }

    /** Returns this owner's hold, if the calling thread's transaction runs under it. */
    public Optional<Granted> hold(String name, String owner) {
        return scope().flatMap(scope -> scope.hold(name, owner));
    }

    /** Warns of a release by a thread other than the acquiring one, which has entered the hold again. */
    public void releasedElsewhere(Granted hold) {
        warnings.releasedElsewhere(hold.name());
    }

    /**
     * Checks that the calling thread's transaction will be checked, if this request must be fenced. Without a transaction, checks that
     * the manager's next one will be.
     *
     * @throws IllegalStateException if not
     */
    public void checkFence(LockRequest request) {
        if (!request.isFenceRequired()) {
            return;
        }
        if (!guard.isInstalled() && manager != null) {
            throw new IllegalStateException("Lock '" + request.name() + "' requires a fence, but "
                    + TransactionScope.Kind.SEPARATE.whyUnfenced());
        }
        if (!guard.isInstalled()) {
            throw new IllegalStateException(
                    "Lock '" + request.name() + "' requires a fence, but the lock service was built without the"
                            + " JpaTransactionManager of its persistence unit: name it with transactionManager(...)");
        }
        if (!isListening()) {
            throw new IllegalStateException("Lock '" + request.name() + "' requires a fence, but the listeners of the"
                    + " transaction manager were replaced since the lock service was built: add to its listeners, or build the"
                    + " lock service later");
        }
        if (isInTransaction() && !isInGuardedTransaction()) {
            throw new IllegalStateException("Lock '" + request.name() + "' requires a fence, but "
                    + scopeOrForeign().whyUnfenced());
        }
    }

    /** Whether the manager still reports its transactions. The application may have replaced its listeners. */
    private boolean isListening() {
        ConfigurableTransactionManager reporting = manager;
        return reporting != null && reporting.getTransactionExecutionListeners().contains(this);
    }

    /**
     * Whether the calling thread's transaction commits only while the hold stands. Without a transaction, the answer is about the
     * next one.
     */
    public boolean isFenced(Granted hold) {
        if (!guard.isInstalled() || !isListening() || !hold.requiresFence()) {
            return false;
        }
        return isInTransaction() ? isInGuardedTransaction() && isUnder(hold) : hold.fencesNext();
    }

    private boolean isInGuardedTransaction() {
        return isInTransaction()
                && guard.isInTransaction()
                && scope().filter(TransactionScope::isGuarded).isPresent();
    }

    /** Whether the calling thread is in a transaction, whichever manager has begun it. */
    public static boolean isInAnyTransaction() {
        return TransactionSynchronizationManager.isActualTransactionActive();
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

    /**
     * Returns the transaction's scope. If the manager did not report the transaction's begin, it will not report the commit
     * either. The scope is then foreign.
     */
    private TransactionScope scopeOrForeign() {
        return scope().orElseGet(() -> begin(TransactionScope.Kind.FOREIGN));
    }

    private TransactionScope begin(TransactionScope.Kind kind) {
        TransactionScope scope = new TransactionScope(this, guard, kind);
        TransactionSynchronizationManager.registerSynchronization(scope);
        return scope;
    }
}
