package io.github.holdfast.repository;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The rows of the locks in the current transaction, by the queries of {@link LockRepository}. Thread-safe. */
final class JpaLockRows implements TransactionalLockRows {

    private final LockRepository queries;
    private final LockAuditRepository audits;
    private final @Nullable H2RowLocks rowLocks;

    /**
     * Creates the rows.
     *
     * @param rowLocks what locks rows before the queries do; null on most databases
     */
    JpaLockRows(LockRepository queries, LockAuditRepository audits, @Nullable H2RowLocks rowLocks) {
        this.queries = queries;
        this.audits = audits;
        this.rowLocks = rowLocks;
    }

    /** Returns the bare statements. */
    LockRepository queries() {
        return queries;
    }

    @Override
    public Optional<LockSnapshot> read(String name) {
        return queries.read(name);
    }

    @Override
    public Optional<String> firstInQueue(String name) {
        return queries.firstInQueue(name);
    }

    @Override
    public Optional<LockEntity> findForUpdate(String name) {
        return queries.findForUpdate(name);
    }

    /** Does the same as {@link #findForUpdate(String)}, for callers that have set a timeout for the wait. */
    Optional<LockEntity> findForUpdate(String name, Duration atMost) {
        return rowLocks == null || rowLocks.await(name, atMost) ? queries.findForUpdate(name) : Optional.empty();
    }

    @Override
    public Optional<LockEntity> findForUpdateSkipLocked(String name) {
        return rowLocks == null || rowLocks.lockIfFree(name) ? queries.findForUpdateSkipLocked(name) : Optional.empty();
    }

    @Override
    public Optional<LockEntity> createIfMissing(String name) {
        queries.createIfMissing(name);
        return Optional.empty();
    }

    @Override
    public boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        long start = System.nanoTime();
        boolean granted = queries.grant(
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.owner(),
                        after.nodeId(),
                        after.holder(),
                        after.fencingToken(),
                        Micros.orNull(lease),
                        Micros.orNull(minimumHold))
                == 1;
        if (granted && hasWaitedSince(start)) {
            queries.grantFromNow(after.name(), after.version(), Micros.orNull(lease), Micros.orNull(minimumHold));
        }
        return granted;
    }

    /**
     * Whether a write took so long that it has probably waited for the row. Its time may then be from before the wait. PostgreSQL
     * computes the new row before the wait, and again only if the other transaction changed the row. H2's clock is the start of
     * the statement. On MySQL and MariaDB, the same holds for a statement that is a transaction by itself.
     */
    static boolean hasWaitedSince(long start) {
        return System.nanoTime() - start > Duration.ofSeconds(1).toNanos();
    }

    @Override
    public boolean extend(LockEntity before, LockEntity after, Duration lease) {
        long start = System.nanoTime();
        boolean extended = queries.extend(
                        before.name(),
                        before.version(),
                        before.fencingToken(),
                        before.owner(),
                        after.holdCount(),
                        Micros.of(lease))
                == 1;
        if (extended && hasWaitedSince(start)) {
            queries.extendFromNow(after.name(), after.version(), Micros.of(lease));
        }
        return extended;
    }

    @Override
    public boolean release(LockEntity before, LockEntity after) {
        return after.owner() == null
                ? queries.release(before.name(), before.version(), before.fencingToken(), before.owner()) == 1
                : recount(before, after);
    }

    @Override
    public boolean recount(LockEntity before, LockEntity after) {
        Objects.requireNonNull(after.owner(), "a recount does not free the lock");
        return queries.recount(
                        before.name(), before.version(), before.fencingToken(), before.owner(), after.holdCount())
                == 1;
    }

    @Override
    public boolean supersede(String name, long version) {
        return queries.supersede(name, version) == 1;
    }

    @Override
    public boolean takeFromHolder(LockEntity before, LockEntity after, Duration delay) {
        return queries.takeFromHolder(
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
        queries.delay(written.name(), written.version(), Micros.of(delay));
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
