package io.github.holdfast.repository;

import java.util.Locale;

/**
 * What a database may do although Holdfast relies on the opposite. A service checks this when it is built. It refuses such a database, or
 * warns, until {@code LockServiceBuilder.accept} names the risk.
 */
public enum DatabaseRisk {

    /**
     * While a transaction has changed a row, another one can change it too, and the conflict appears only at a commit. The check of a
     * fenced transaction does not keep a waiter away until the commit, and row locks exclude no other transaction. Refused.
     */
    CONCURRENT_WRITES(true),

    /**
     * Two connections show clocks that differ by more than the clock tolerance. A lease may be over on one of them, and granted again,
     * while its holder still relies on the other. Refused.
     */
    CLOCK_DIFFERENCE(true),

    /**
     * Another server writes the lock tables too: they are the target of replication, or are distributed over several servers. Each server
     * may grant the same lock. Refused.
     */
    REPLICATED_TABLES(true),

    /**
     * The server is writable and applies the changes of another server. If that one is written too, each of them may grant the same
     * lock. A warning, because the database does not say whether this concerns the lock tables.
     */
    WRITABLE_REPLICA(false),

    /**
     * The database acknowledges commits before they are on its disk. After a crash of the server, a granted lock may be free, and is granted
     * again with the same token. A warning.
     */
    UNFLUSHED_COMMITS(false);

    private final boolean refused;

    DatabaseRisk(boolean refused) {
        this.refused = refused;
    }

    /** Whether a database with this risk is refused, and not only warned of. */
    public boolean isRefused() {
        return refused;
    }

    /** Returns the name as a property has it. */
    public String property() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
