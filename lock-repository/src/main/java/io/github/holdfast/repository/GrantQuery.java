package io.github.holdfast.repository;

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
     * The node's row is looked for after the lock's row is locked: at REPEATABLE READ, MySQL and MariaDB lock it too, shared, and its
     * heartbeat would wait as long as this waits for the lock's row. A subquery that names nothing of the outer row they execute first
     * (https://dev.mysql.com/doc/refman/8.0/en/innodb-locks-set.html).
     */
    static final String IF_NODE_LIVES = """
                and (:nodeId is null
                    or (select n.ended from HoldfastNode n where n.id = :nodeId and l.version = :version) = false)
            """;

    private GrantQuery() {}
}
