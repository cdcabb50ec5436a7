package io.github.holdfast.repository.rows;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.jdbc.StoreTransactions;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The rows of the locks in the current transaction. Thread-safe. */
public final class JpaTransactionalLockRows extends JpaLockRows implements TransactionalLockRows {

    private final LockAuditRepository audits;
    private final @Nullable H2RowLocks rowLocks;

    /**
     * Creates the rows.
     *
     * @param atMost how long each statement may take
     * @param waking writes the releases that wake a waiter; null if the database wakes none
     * @param rowLocks what locks rows before the queries do; null on most databases
     */
    public JpaTransactionalLockRows(
            LockStatements statements,
            LockRepository queries,
            StoreTransactions transactions,
            Duration atMost,
            @Nullable WakingRelease waking,
            LockAuditRepository audits,
            @Nullable H2RowLocks rowLocks) {
        super(statements, queries, transactions, atMost, waking, null);
        this.audits = audits;
        this.rowLocks = rowLocks;
    }

    @Override
    public Optional<LockEntity> findForUpdate(String name) {
        return queries().findForUpdate(name);
    }

    /** Does the same as {@link #findForUpdate(String)}, for callers that have set a timeout for the wait. */
    Optional<LockEntity> findForUpdate(String name, Duration atMost) {
        return rowLocks == null || rowLocks.await(name, atMost)
                ? queries().findForUpdateInTime(name)
                : Optional.empty();
    }

    @Override
    public Optional<LockEntity> findForUpdateSkipLocked(String name) {
        return rowLocks == null || rowLocks.lockIfFree(name)
                ? queries().findForUpdateSkipLocked(name)
                : Optional.empty();
    }

    @Override
    public boolean takeFromHolder(LockEntity before, LockEntity after, Duration delay) {
        return queries()
                        .takeFromHolder(
                                before.name(),
                                before.version(),
                                before.fencingToken(),
                                before.owner(),
                                after.fencingToken(),
                                Micros.of(delay))
                == 1;
    }

    @Override
    public void delay(LockEntity written, Duration delay) {
        queries().delay(written.name(), written.version(), Micros.of(delay));
    }

    @Override
    public void recordForcedRelease(LockEntity before, String doneBy, String reason) {
        audits.insert(
                UUID.randomUUID().toString(),
                LockAudit.FORCED_RELEASE,
                before.name(),
                before.owner(),
                before.nodeId(),
                before.holder(),
                before.fencingToken(),
                null,
                doneBy,
                reason);
    }

    @Override
    public boolean wasForced(String name, long fencingToken) {
        return audits.wasForced(name, fencingToken);
    }
}
