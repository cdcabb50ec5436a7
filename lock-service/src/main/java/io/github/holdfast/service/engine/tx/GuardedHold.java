package io.github.holdfast.service.engine.tx;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.Grant;
import org.jspecify.annotations.Nullable;

/** What callers' transactions need of a hold under which they run. */
public interface GuardedHold {

    String name();

    /** The thread that acquired it; null if it is not registered yet. */
    @Nullable
    Thread acquiredBy();

    HoldTransactions holdTransactions();

    boolean isLost();

    /** A hold whose row shows its grant. One statement checks the grants of many. */
    interface Granted extends GuardedHold {

        Grant grant();

        String owner();

        /** Whether a handle is not released. */
        boolean isOpen();

        /** Whether the next transaction of the thread that acquired it will run under the hold. */
        boolean fencesNext();

        /** Whether no earlier holder can have committed what transactions under the hold must see. */
        boolean isFirst();

        boolean isByLease();

        /** Whether it has gone on with the grant of a previous holder in this process. */
        boolean isRevived();

        /** Whether transactions under the hold commit only while it stands. */
        boolean requiresFence();

        /**
         * Notes the end of a transaction under the hold.
         *
         * @param committedUnderGuard whether it has committed while the hold stood
         */
        void completed(TransactionScope scope, boolean committedUnderGuard);

        /**
         * Waits until no unanswered commit of a transaction under the hold can still happen.
         *
         * @throws LockStoreException if the database does not show that in time
         */
        void awaitDecision();

        LockLostException lossException();

        /** Reports the loss that the check of a transaction has found; returns the exception for that transaction. */
        LockLostException lostInTransaction();
    }

    /** A row lock. */
    interface OfRow extends GuardedHold {

        /** Whether the caller's transaction has locked the row. Otherwise, a transaction of the hold's own has. */
        boolean isCallers();

        /** Whether this transaction has locked the row. */
        boolean isLockedBy(TransactionScope scope);

        /** Whether the calling thread's transaction has locked the row. */
        boolean isFenced();

        /** Notes the end of a transaction under the hold, or of the one that locked the row. */
        void completed(TransactionScope scope);

        /**
         * Checks that the row is still locked, before another transaction commits under the hold.
         *
         * @throws LockLostException if it is not
         * @throws LockStoreException if the database failed
         */
        void checkForCommit();
    }
}
