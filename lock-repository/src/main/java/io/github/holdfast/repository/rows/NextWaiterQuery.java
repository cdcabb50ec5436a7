package io.github.holdfast.repository.rows;

import org.jspecify.annotations.Nullable;

/** The parts of the queries that find which waiter is next for a lock. They say which waiters count. */
public final class NextWaiterQuery {

    /**
     * The waiters that count: those of living nodes whose mark is current. The lock is named by a parameter: Hibernate wraps a
     * limited subquery into another one, and that one could not refer to the updated row.
     */
    static final String ALL = """
            from HoldfastWaiter w join HoldfastNode n on n.id = w.nodeId
            where w.name = :name and n.ended = false and n.waitsUntil > db_clock()
            """;

    /** The waiters of other services. */
    public static final String OTHERS = ALL + " and (n.bell is null or n.bell <> :bell) ";

    /** The bell of the one that has waited longest; null if its service polls. */
    public static final String BELL = "select n.bell " + OTHERS + " order by w.since, w.id fetch first 1 rows only";

    /** The same, but exclusive waiters ('X') come before shared ones ('S'). */
    static final String BELL_EXCLUSIVE_FIRST =
            "select n.bell " + OTHERS + " order by w.mode desc, w.since, w.id fetch first 1 rows only";

    /** The first place in the queue of the fair requests of all services. */
    static final String FIRST_IN_QUEUE =
            "select w.id " + ALL + " and w.fair = true order by w.since, w.id fetch first 1 rows only";

    /** A number that no service has as its bell. */
    private static final long NO_BELL = 0;

    private NextWaiterQuery() {}

    /** Returns the parameter {@code bell} of a service; without a bell, none of the waiters is its own. */
    public static long bell(@Nullable Long own) {
        return own == null ? NO_BELL : own;
    }
}
