package io.github.holdfast.service;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The unfinished transactions that run, or ran, under one hold, and the release that waits for them. Once a release waits or
 * is done, no further transaction runs under the hold. Thread-safe.
 */
final class Coverage {

    private enum Release {
        NONE,
        DEFERRED,
        DONE
    }

    private final Set<TransactionScope> unfinished = new HashSet<>();

    /** Which transactions have locked the row, and on which thread. */
    private final Map<TransactionScope, Thread> lockedBy = new HashMap<>();

    private Release release = Release.NONE;
    private boolean hasCommitted;
    private boolean isUndecided;

    /** A transaction begins under the hold. Returns false if it does already, or the hold is being released. */
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

    /** Whether a transaction runs, or ran, under the hold that has not ended. */
    synchronized boolean isUnfinished() {
        return !unfinished.isEmpty();
    }

    /** Begins the release; returns false if it is put off, because a transaction is unfinished. */
    synchronized boolean beginRelease() {
        release = unfinished.isEmpty() ? Release.DONE : Release.DEFERRED;
        return release == Release.DONE;
    }

    /** Takes a release back that was put off and has not begun; returns false if there is none. */
    synchronized boolean cancelRelease() {
        boolean wasDeferred = release == Release.DEFERRED;
        if (wasDeferred) {
            release = Release.NONE;
        }
        return wasDeferred;
    }

    /** Begins the release that was put off; returns false if there is none, or a transaction is unfinished. */
    synchronized boolean takeRelease() {
        boolean isDue = release == Release.DEFERRED && unfinished.isEmpty();
        if (isDue) {
            release = Release.DONE;
        }
        return isDue;
    }

    /** Begins the release whatever is unfinished. */
    synchronized void forceRelease() {
        release = Release.DONE;
    }

    /** Whether an unfinished transaction will not commit unless the hold stands. */
    synchronized boolean willBeChecked() {
        return unfinished.stream().anyMatch(TransactionScope::isGuarded);
    }

    /**
     * A transaction has ended.
     *
     * @param committedUnderGuard whether it has committed, and the hold stood
     * @return whether a release waits that can be done now
     */
    synchronized boolean end(TransactionScope scope, boolean committedUnderGuard) {
        unfinished.remove(scope);
        lockedBy.remove(scope);
        hasCommitted |= committedUnderGuard;
        return release == Release.DEFERRED && unfinished.isEmpty();
    }

    /** Whether a transaction has committed under the hold, and it stood. */
    synchronized boolean hasCommitted() {
        return hasCommitted;
    }

    /** A transaction that was checked has not committed as far as is known, but an unanswered commit may happen later. */
    synchronized void undecided() {
        isUndecided = true;
    }

    /** Whether a commit may still happen of which nothing is known. */
    synchronized boolean isUndecided() {
        return isUndecided;
    }

    /** The row was written since: whoever had locked it has ended. */
    synchronized void decided() {
        isUndecided = false;
    }
}
