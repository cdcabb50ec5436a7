package io.github.holdfast.repository.rows;

import io.github.holdfast.repository.KnownDialects;
import io.github.holdfast.repository.LockDialect;
import io.github.holdfast.repository.jdbc.AutocommitExecutor;
import io.github.holdfast.repository.jdbc.CompiledUpdate;
import javax.sql.DataSource;
import org.hibernate.engine.spi.SessionFactoryImplementor;
import org.jspecify.annotations.Nullable;

/** The statements of {@link JpaLockRows}, compiled once for a store. Thread-safe. */
public final class LockStatements {

    private final AutocommitExecutor executor;
    private final NodeLocationCache nodes;

    /** Whether to count the holders of a lock before its row is created: see {@link LockDialect#locksWhatAnInsertReads}. */
    final boolean areHoldersCounted;

    final CompiledUpdate grant;

    /** Does the same as {@link #grant}, and returns the number of the table as its key, if the database has such a number. */
    final CompiledUpdate grantAndLocate;

    final CompiledUpdate grantWhereNodeIs;

    /** Grants through a node whose row is known to be in this place. */
    final CompiledUpdate grantInPlace;

    final CompiledUpdate extend;
    final CompiledUpdate release;
    final CompiledUpdate recount;
    final CompiledUpdate createIfMissing;
    final CompiledUpdate createAs;
    final CompiledQuery<Long> countHolders;
    final CompiledQuery<LockSnapshot> read;
    final CompiledQuery<String> firstInQueue;

    /**
     * Compiles the statements.
     *
     * @param connections the source of their connections; null for the application's own
     */
    public LockStatements(SessionFactoryImplementor factory, @Nullable DataSource connections) {
        executor = AutocommitExecutor.of(factory, connections);
        LockDialect dialect = KnownDialects.of(factory);
        nodes = new NodeLocationCache(dialect);
        grant = CompiledUpdate.of(factory, LockRepository.class, "grant");
        grantAndLocate = dialect.tableIdColumn().map(grant::returning).orElse(grant);
        grantWhereNodeIs = CompiledUpdate.of(factory, LockRepository.class, "grantWhereNodeIs");
        grantInPlace = nodes.areTablesCompared()
                ? CompiledUpdate.of(factory, LockRepository.class, "grantInTable")
                : grantWhereNodeIs;
        extend = CompiledUpdate.of(factory, LockRepository.class, "extend");
        release = CompiledUpdate.of(factory, LockRepository.class, "release");
        recount = CompiledUpdate.of(factory, LockRepository.class, "recount");
        createIfMissing = CompiledUpdate.generating(factory, "version", LockRepository.class, "createIfMissing");
        createAs = CompiledUpdate.generating(factory, "version", LockRepository.class, "createAs");
        countHolders = CompiledQuery.of(factory, Long.class, LockRepository.class, "countHolders");
        areHoldersCounted = dialect.locksWhatAnInsertReads();
        read = CompiledQuery.ofSnapshot(factory);
        firstInQueue = CompiledQuery.of(factory, String.class, LockRepository.class, "firstInQueue");
    }

    /** Returns the places of the nodes' rows, as seen by grants in autocommit mode. */
    NodeLocationCache nodes() {
        return nodes;
    }

    /** Returns what executes single statements of the store, each in a transaction of its own. */
    public AutocommitExecutor executor() {
        return executor;
    }
}
