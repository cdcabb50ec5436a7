package io.github.holdfast.repository;

import org.jspecify.annotations.Nullable;

/**
 * Thrown at the start if a database, its tables or its connections do not suit locks. The message says what is wrong, in the
 * database's own words too where it has any.
 */
public final class DatabaseSetupException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    /** What is wrong. */
    public enum Problem {
        /** No connection could be opened. */
        NOT_REACHABLE,

        /** The database refused the user or the password. */
        WRONG_PASSWORD,

        /** The pool had no free connection in time. */
        EXHAUSTED,

        /** The user may not create a table, or not read or write one. */
        MISSING_RIGHT,

        /** The connections or the sessions are read-only. */
        READ_ONLY,

        /** The server only repeats what another server writes. */
        REPLICA,

        /** A table or a column is missing. */
        TABLES_MISSING,

        /** A table is in another schema than the mapping says, or that schema does not exist. */
        WRONG_PLACE,

        /** Names that differ are equal for the database. */
        COLLATION,

        /** The connection changes characters on their way to the database. */
        CHARACTER_SET,

        /** The persistence unit has the dialect of a database other than the connected one. */
        DIALECT,

        /** A pooler loses prepared statements. */
        POOLER,

        /** Holdfast does not support the database, such as one in which several servers execute statements by their own clocks. */
        UNSUPPORTED,

        /** The lock data source and the persistence unit lead to different databases. */
        OTHER_DATABASE,

        /** Anything else. */
        OTHER;

        /** Returns the problem behind a failure at the start, by the first of its causes that identifies one. */
        public static Problem of(Throwable failure) {
            for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
                Problem problem = known(cause);
                if (problem != null) {
                    return problem;
                }
            }
            return OTHER;
        }

        private static @Nullable Problem known(Throwable cause) {
            if (cause instanceof DatabaseSetupException known) {
                return known.problem;
            }
            if (cause instanceof UnsupportedDatabaseException) {
                return UNSUPPORTED;
            }
            if (!(cause instanceof StoreException store)) {
                return null;
            }
            return switch (store.failure()) {
                case TABLE_MISSING -> TABLES_MISSING;
                case READ_ONLY -> READ_ONLY;
                case EXHAUSTED -> EXHAUSTED;
                case UNAVAILABLE -> SqlErrors.isOfCredentials(store) ? WRONG_PASSWORD : NOT_REACHABLE;
                default -> null;
            };
        }
    }

    private final Problem problem;

    public DatabaseSetupException(Problem problem, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.problem = problem;
    }

    /** Returns the exception for a connection that could not be opened. */
    static DatabaseSetupException noConnection(String what, Exception failure) {
        Problem problem = switch (SqlErrors.ofBegin(failure)) {
            case EXHAUSTED -> Problem.EXHAUSTED;
            default -> SqlErrors.isOfCredentials(failure) ? Problem.WRONG_PASSWORD : Problem.NOT_REACHABLE;
        };
        return new DatabaseSetupException(problem, what + ": " + SqlErrors.words(failure), failure);
    }

    /** Returns the problem. */
    public Problem problem() {
        return problem;
    }
}
