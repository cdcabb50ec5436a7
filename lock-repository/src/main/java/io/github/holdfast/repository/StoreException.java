package io.github.holdfast.repository;

import org.jspecify.annotations.Nullable;

/** The database did not do what it was asked to; {@link #failure} says why and what became of the writes. */
public final class StoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private static final String MORE_CONNECTIONS =
            "give lock operations connections of their own (LockServiceBuilder.lockDataSource), or enlarge the pool";

    /** Why the database did not do it, and so what the one who asked may do next. */
    public enum Failure {
        /** Another transaction was faster (serialization or snapshot conflict): nothing was written, repeat. */
        CONFLICT("The database rolled back in favour of another transaction"),

        /** This transaction and another one waited for each other: nothing was written, repeat. */
        DEADLOCK("The database rolled back to resolve a deadlock with another transaction"),

        /**
         * The database took too long, mostly because another transaction has the row locked: nothing was written, come back
         * later.
         */
        BUSY("The database took too long, probably because another transaction has the lock's row locked"),

        /** There is no connection, or it broke before the commit: nothing was written. */
        UNAVAILABLE("There is no connection to the database"),

        /** The connection leads to a server that only reads, as after a switch-over: nothing was written, repeat on another one. */
        READ_ONLY("The connection leads to a server, or is in a session, that only reads"),

        /** The database lacks room on its disk, memory or another resource: nothing was written, come back later. */
        INSUFFICIENT_RESOURCES("The database has not enough disk, memory or other resources"),

        /** The pool had no connection left for as long as it lets anybody wait: nothing was written. */
        EXHAUSTED(
                "No connection of the pool was free in time: all are in use, often by threads that have one in a transaction"
                        + " and wait for a second one, for a lock; " + MORE_CONNECTIONS),

        /** The commit was sent, but no answer came: it may have happened, may still happen, or may never. */
        UNKNOWN("The database did not answer the commit"),

        /** Holdfast's tables are not there, or lack a column that came later: nothing was written. */
        TABLE_MISSING(
                "The tables distributed_lock, lock_node, lock_audit and lock_run are not all there, with all their columns: apply"
                        + " the Liquibase changelog "
                        + LockSchema.CHANGELOG + ", or the SQL in db/holdfast/ of the same jar, or call LockSchema"),

        /** The database refused for a reason that repeating does not change: nothing was written. */
        REFUSED("The database refused the statement");

        private final String message;

        Failure(String message) {
            this.message = message;
        }

        String message() {
            return message;
        }

        /** Whether the writes of the transaction may have happened or may still happen. */
        public boolean isAmbiguous() {
            return this == UNKNOWN;
        }

        /** Whether there was no connection to ask the database on, or it broke. */
        public boolean isOfConnection() {
            return this == UNAVAILABLE || this == EXHAUSTED;
        }

        /** Whether it tells nothing about the lock, so that asking again at once is the way to find out. */
        public boolean isUndecided() {
            return isConflict() || this == UNKNOWN;
        }

        /** Whether another transaction was preferred, so that nothing was written. */
        public boolean isConflict() {
            return this == CONFLICT || this == DEADLOCK;
        }

        /** Whether the same request may succeed when it is repeated. */
        public boolean isTransient() {
            return this != TABLE_MISSING && this != REFUSED;
        }
    }

    private final Failure failure;

    StoreException(Failure failure, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.failure = failure;
    }

    /** What happened, in the words for that kind of failure. */
    static StoreException of(Failure failure, Throwable cause) {
        return new StoreException(failure, failure.message(), cause);
    }

    /** What happened when other writers were faster each time that the row was read again. */
    public static StoreException overtaken() {
        return new StoreException(Failure.CONFLICT, "Other writers of the lock's row were faster", null);
    }

    /** What happened when an earlier statement that this one waits for has no connection or no answer yet. */
    public static StoreException unanswered() {
        return new StoreException(
                Failure.UNAVAILABLE,
                "An earlier statement that this one waits for has had no answer or no connection yet; if all connections of the"
                        + " pool are in use, " + MORE_CONNECTIONS,
                null);
    }

    /** What happened when the node through which a lock is to be held has no row where the lock has its own. */
    public static StoreException nodeIsElsewhere() {
        return new StoreException(
                Failure.REFUSED,
                "The heartbeat keeps this service's node in another database than this thread's connections lead to, so nobody would"
                        + " heed the lock here: does the data source choose a database by thread, as for tenants? Build one"
                        + " LockService for each database",
                null);
    }

    /** What happened when a row that was created is not there. */
    public static StoreException invisible() {
        return new StoreException(
                Failure.REFUSED,
                "The lock's row was created, but is not seen afterwards: do the connections lead to the primary, and does"
                        + " nothing hide rows?",
                null);
    }

    /** Returns why, and what became of the writes. */
    public Failure failure() {
        return failure;
    }
}
