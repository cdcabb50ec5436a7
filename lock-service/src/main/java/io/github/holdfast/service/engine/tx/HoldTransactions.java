package io.github.holdfast.service.engine.tx;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.row.HoldRow;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the unfinished transactions under one hold, and the release that waits for them. After the release was requested, no
 * further transaction begins under the hold. Thread-safe.
 */
public final class HoldTransactions {

    private enum Release {
        NONE,
        DEFERRED,
        DONE
    }

    private final Set<TransactionScope> unfinished = new HashSet<>();

    /** Maps each transaction that has locked the row to its thread. */
    private final Map<TransactionScope, Thread> lockedBy = new HashMap<>();

    private Release release = Release.NONE;
    private boolean areFenced;
    private boolean hasCommitted;
    private boolean isUndecided;
    private boolean isGuardedOutside;
    private boolean isPassedOn;

    /** Fences the transactions, if the request asks for a fence. No later request removes it. */
    public synchronized void fence(LockRequest request) {
        areFenced |= !request.isUnfenced();
    }

    /** Whether the transactions commit only while the hold stands. */
    public synchronized boolean areFenced() {
        return areFenced;
    }

    /** Begins a transaction under the hold. Returns false if it has already begun, or the hold is being released. */
    synchronized boolean begin(TransactionScope scope) {
        return release == Release.NONE && unfinished.add(scope);
    }

    /** Notes that a transaction has locked the row. */
    synchronized void locked(TransactionScope scope) {
        lockedBy.put(scope, Thread.currentThread());
    }

    /** Whether an unfinished transaction of this thread has locked the row. */
    synchronized boolean isLockedByCurrentThread() {
        return lockedBy.containsValue(Thread.currentThread());
    }

    /** The same, also if another manager's transaction may have locked it. */
    public synchronized boolean mayBeLockedByCurrentThread() {
        return isGuardedOutside || isLockedByCurrentThread();
    }

    /** Whether another unfinished transaction of this thread has locked the row. */
    synchronized boolean isLockedOutside(TransactionScope scope) {
        return lockedBy.entrySet().stream()
                .anyMatch(locked -> locked.getKey() != scope && locked.getValue() == Thread.currentThread());
    }

    /** Whether a transaction under the hold is unfinished. */
    public synchronized boolean isUnfinished() {
        return !unfinished.isEmpty();
    }

    /** Whether this transaction is unfinished, and no other. */
    synchronized boolean isOnly(TransactionScope scope) {
        return unfinished.size() == 1 && unfinished.contains(scope);
    }

    /** Begins the release; returns false if it is deferred, because a transaction is unfinished. */
    public synchronized boolean beginRelease() {
        release = unfinished.isEmpty() ? Release.DONE : Release.DEFERRED;
        return release == Release.DONE;
    }

    /** Begins the release; returns false, and does nothing, if a transaction is unfinished. */
    public synchronized boolean beginReleaseIfFinished() {
        boolean areFinished = unfinished.isEmpty();
        if (areFinished) {
            release = Release.DONE;
        }
        return areFinished;
    }

    /** Cancels a deferred release that has not begun; returns false if there is none. */
    public synchronized boolean cancelRelease() {
        boolean wasDeferred = release == Release.DEFERRED;
        if (wasDeferred) {
            release = Release.NONE;
        }
        return wasDeferred;
    }

    /** Begins the deferred release; returns false if there is none, or a transaction is unfinished. */
    public synchronized boolean takeRelease() {
        boolean isDue = release == Release.DEFERRED && unfinished.isEmpty();
        if (isDue) {
            release = Release.DONE;
        }
        return isDue;
    }

    /** Begins the release even if transactions are unfinished. */
    public synchronized void forceRelease() {
        release = Release.DONE;
    }

    /** Whether an unfinished transaction checks the hold before its commit. */
    public synchronized boolean willBeChecked() {
        return areFenced && unfinished.stream().anyMatch(TransactionScope::isChecked);
    }

    /**
     * Notes that a transaction has ended.
     *
     * @param committedUnderGuard whether it has committed while the hold stood
     * @return whether a deferred release can be done now
     */
    public synchronized boolean end(TransactionScope scope, boolean committedUnderGuard) {
        unfinished.remove(scope);
        lockedBy.remove(scope);
        hasCommitted |= committedUnderGuard;
        return release == Release.DEFERRED && unfinished.isEmpty();
    }

    /** Whether a transaction has committed under the hold while the hold stood. */
    public synchronized boolean hasCommitted() {
        return hasCommitted;
    }

    /** Notes that a checked transaction did not report a commit. An unanswered commit may still happen. */
    synchronized void undecided() {
        isUndecided = true;
    }

    /**
     * Notes that a transaction locks the row whose end is not reported.
     *
     * @return false if the next holder may have the grant already: the row would show it as standing
     */
    synchronized boolean guardOutside() {
        isGuardedOutside |= !isPassedOn;
        return !isPassedOn;
    }

    /**
     * Passes the grant on to the next holder, unless a transaction may have the row locked.
     *
     * @return false if the row must be written first
     */
    public synchronized boolean passOn() {
        isPassedOn = unfinished.isEmpty() && !isUndecided && !isGuardedOutside;
        return isPassedOn;
    }

    /** Whether the next holder may have the same grant. */
    synchronized boolean isPassedOn() {
        return isPassedOn;
    }

    /** Whether a commit with an unknown outcome may still happen. */
    public synchronized boolean isUndecided() {
        return isUndecided;
    }

    /**
     * Waits until no unanswered commit can still happen. Such a transaction locks the row until it ends, so a write of the row waits.
     *
     * @throws StoreException if the write is not answered in time
     */
    public void awaitDecision(HoldRow row) {
        if (isUndecided() && !row.isReleased()) {
            row.touch();
        }
        decided();
    }

    /** Leaves it to the next write of the row to wait for unanswered commits. */
    public synchronized void decided() {
        isUndecided = false;
    }
}
