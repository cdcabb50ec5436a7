package io.github.holdfast.repository.rows;

/**
 * The update that releases the last hold. Between its two parts stands an expression for the hold count, which is 0. The expressions of
 * some databases also show which service is to be woken.
 */
public final class ReleaseQuery {

    public static final String UP_TO_HOLD_COUNT = """
            update HoldfastLock l
            set l.owner = null, l.nodeId = null, l.holder = null, l.holdCount =
            """;

    public static final String AFTER_HOLD_COUNT = """
            , l.expiresAt = db_clock(), l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner = :expectedOwner
            """;

    private ReleaseQuery() {}
}
