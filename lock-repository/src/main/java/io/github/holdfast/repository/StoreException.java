package io.github.holdfast.repository;

import org.jspecify.annotations.Nullable;

/** A database operation failed; {@link #failure} says why and what became of the writes. */
public final class StoreException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private static final String MORE_CONNECTIONS =
            "give lock operations connections of their own (holdfast.datasource.maximum-pool-size=5, or without Spring Boot"
                    + " LockServiceBuilder.lockDataSource), or enlarge the pool";

    /** Why the operation failed. The reason determines what the caller may do next. */
    public enum Failure {
        /** Another transaction was faster (serialization or snapshot conflict). Nothing was written; repeat. */
        CONFLICT("The database rolled back in favour of another transaction"),

        /** This transaction and another one waited for each other. Nothing was written; repeat. */
        DEADLOCK("The database rolled back to resolve a deadlock with another transaction"),

        /**
         * The database took too long, mostly because another transaction has the row locked. Nothing was written; repeat later.
         */
        BUSY("The database took too long, probably because another transaction has locked the lock's row"),

        /** There is no connection, or it broke before the commit. Nothing was written. */
        UNAVAILABLE("There is no connection to the database"),

        /**
         * The server is read-only, for example after a switch-over. Nothing was written; repeat on another connection.
         */
        READ_ONLY("The database server or the session is read-only"),

        /** The database lacks disk space, memory or another resource. Nothing was written; repeat later. */
        INSUFFICIENT_RESOURCES("The database lacks disk space, memory or another resource"),

        /** The pool had no free connection within its timeout. Nothing was written. */
        EXHAUSTED("The pool had no free connection in time: all are in use, often by threads that hold one in a"
                + " transaction or a web request (open-in-view) and wait for a second one, for a lock; "
                + MORE_CONNECTIONS),

        /** The commit was sent, but no answer came. It may have happened, may still happen, or may never happen. */
        UNKNOWN("The database did not answer the commit"),

        /** Holdfast's tables are missing, or lack a column of a newer version. Nothing was written. */
        TABLE_MISSING(
                "One of the tables distributed_lock, lock_node, lock_audit, lock_run, lock_holder and lock_waiter is"
                        + " missing, or lacks a column: apply the Liquibase changelog " + Changelog.PATH
                        + ", or the SQL in db/holdfast/ of the same jar, or call LockSchema"),

        /** The database refused the statement, and would refuse it again. Nothing was written. */
        REFUSED("The database refused the statement");

        private final String message;

        Failure(String message) {
            this.message = message;
        }

        public String message() {
            return message;
        }

        /** Whether the writes of the transaction may have happened or may still happen. */
        public boolean isAmbiguous() {
            return this == UNKNOWN;
        }

        /** Whether the connection to the database was missing or broke. */
        public boolean isOfConnection() {
            return this == UNAVAILABLE || this == EXHAUSTED;
        }

        /** Whether the lock's state is unknown after the failure. The caller should then read it again at once. */
        public boolean isUndecided() {
            return isConflict() || this == UNKNOWN;
        }

        /** Whether the database rolled back in favour of another transaction. Nothing was written. */
        public boolean isConflict() {
            return this == CONFLICT || this == DEADLOCK;
        }

        /** Whether the same request may succeed when the caller repeats it. */
        public boolean isTransient() {
            return this != TABLE_MISSING && this != REFUSED;
        }
    }

    private final Failure failure;

    public StoreException(Failure failure, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.failure = failure;
    }

    /** Returns the exception for a kind of failure, with its message. */
    public static StoreException of(Failure failure, Throwable cause) {
        return new StoreException(failure, failure.message(), cause);
    }

    /** Whether the database may have executed the writes that have thrown this: any exception may stand in place of the answer. */
    public static boolean leavesDoubt(Throwable thrown) {
        return !(thrown instanceof StoreException failed) || failed.failure().isAmbiguous();
    }

    /** Returns the exception for a row that other writers changed again after each read. */
    public static StoreException overtaken() {
        return new StoreException(Failure.CONFLICT, "Other writers changed the lock's row first", null);
    }

    /** Returns the exception for a statement that depends on an earlier statement without a connection or an answer. */
    public static StoreException unanswered() {
        return new StoreException(
                Failure.UNAVAILABLE,
                "An earlier statement has not completed yet, or has no connection; if all"
                        + " connections of the pool are in use, " + MORE_CONNECTIONS,
                null);
    }

    /** Returns the exception for a node without a row in the database of the lock. */
    public static StoreException nodeIsElsewhere() {
        return new StoreException(
                Failure.REFUSED,
                "The heartbeat and this thread use different databases, so no other service would respect the lock"
                        + " here. If the data source selects a database per thread, as for tenants, build one"
                        + " LockService for each database",
                null);
    }

    /** Returns the exception for a row that was created but cannot be read. */
    public static StoreException invisible() {
        return new StoreException(
                Failure.REFUSED,
                "The lock's row was created, but cannot be read afterwards: check that the connections go to the"
                        + " primary, and that nothing hides rows",
                null);
    }

    /** Returns why the operation failed, and what became of the writes. */
    public Failure failure() {
        return failure;
    }
}
