package io.github.holdfast.repository.rows;

/** The update that grants a lock. */
final class GrantQuery {

    /** See {@link LockRepository#grant}. */
    static final String GRANT = """
            update HoldfastLock l
            set l.owner = :owner, l.nodeId = :nodeId, l.holder = :holder, l.holdCount = 1, l.fencingToken = :token,
                l.acquiredAt = db_clock(), l.expiresAt = db_clock_plus(:leaseMicros),
                l.availableAt = db_clock_plus(:minimumHoldMicros), l.version = l.version + 1
            where l.name = :name and l.version = :version
                and l.fencingToken = :expectedToken and l.owner is not distinct from :expectedOwner
                and (l.availableAt is null or l.availableAt <= db_clock())
            """;

    /**
     * The condition that the node lives. Its subquery refers to the lock's row on purpose: MySQL and MariaDB then lock the lock's
     * row before they read the node's row. They would run an uncorrelated subquery first. At REPEATABLE READ, that takes a shared
     * lock on the node's row. While the statement waits for the lock's row, the node's heartbeat would wait too
     * (https://dev.mysql.com/doc/refman/8.0/en/innodb-locks-set.html).
     *
     * <p>The cast is for PostgreSQL, where {@code stringtype=unspecified} leaves the type of texts to the server
     * (https://jdbc.postgresql.org/documentation/use/).
     */
    static final String IF_NODE_LIVES = """
                and (cast(:nodeId as string) is null
                    or (select n.ended from HoldfastNode n where n.id = :nodeId and l.version = :version) = false)
            """;

    private GrantQuery() {}
}
