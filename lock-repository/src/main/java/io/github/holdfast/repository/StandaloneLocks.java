package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The rows of the locks, where each call is a transaction of its own; those that every acquisition and release makes are single
 * statements of {@link OwnConnections}.
 *
 * @param store which says what cancels statements that take too long
 * @param atMost how long each call may take
 */
record StandaloneLocks(LockStore store, StandaloneStatements statements, Duration atMost) implements LockRepository {

    private static final Logger LOG = LoggerFactory.getLogger(StandaloneLocks.class);

    /** Cancels what takes longer than it may. */
    StatementWatch watch() {
        return store.watch();
    }

    private <T> T inTransaction(Function<LockRepository, T> work) {
        return store.inTransaction(atMost, work);
    }

    /** Executes another update of a lock's row; see {@link StandaloneStatements#update}. */
    int update(PreparedUpdate update, @Nullable Object... arguments) {
        return statements.update(update, this, arguments);
    }

    @Override
    public Optional<LockSnapshot> read(String name) {
        return statements.read(name, atMost);
    }

    @Override
    public int grant(
            String name,
            long version,
            long expectedToken,
            @Nullable String expectedOwner,
            @Nullable String owner,
            @Nullable String nodeId,
            @Nullable String holder,
            long token,
            @Nullable Long leaseMicros,
            @Nullable Long minimumHoldMicros) {
        return statements.grant(
                this,
                nodeId,
                name,
                version,
                expectedToken,
                expectedOwner,
                owner,
                nodeId,
                holder,
                token,
                leaseMicros,
                minimumHoldMicros);
    }

    @Override
    public int grantWhereNodeIs(
            String name,
            long version,
            long expectedToken,
            @Nullable String expectedOwner,
            @Nullable String owner,
            @Nullable String nodeId,
            @Nullable String holder,
            long token,
            @Nullable Long leaseMicros,
            @Nullable Long minimumHoldMicros) {
        return inTransaction(locks -> locks.grantWhereNodeIs(
                name,
                version,
                expectedToken,
                expectedOwner,
                owner,
                nodeId,
                holder,
                token,
                leaseMicros,
                minimumHoldMicros));
    }

    /** Where others are to be kept out for a time, both statements that this may need belong together. */
    @Override
    public boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        return minimumHold == null
                ? LockRepository.super.grant(before, after, lease, null)
                : inTransaction(locks -> locks.grant(before, after, lease, minimumHold));
    }

    /**
     * The grant is committed, and lasts from before it waited, which is what its holder goes by: this only makes it last longer. But if
     * nobody knows whether this was written, nobody knows how long others are kept out.
     */
    @Override
    public int grantFromNow(String name, long version, @Nullable Long leaseMicros, @Nullable Long minimumHoldMicros) {
        try {
            return inTransaction(locks -> locks.grantFromNow(name, version, leaseMicros, minimumHoldMicros));
        } catch (StoreException failed) {
            if (failed.failure().isAmbiguous()) {
                throw failed;
            }
            LOG.debug("The lease of lock '{}' counts from before its grant waited for the row", name, failed);
            return 0;
        }
    }

    @Override
    public int release(String name, long version, long expectedToken, @Nullable String expectedOwner) {
        return statements.release(this, name, version, expectedToken, expectedOwner);
    }

    @Override
    public int recount(String name, long version, long expectedToken, @Nullable String expectedOwner, int holdCount) {
        return statements.recount(this, name, version, expectedToken, expectedOwner, holdCount);
    }

    @Override
    public boolean extend(LockEntity before, LockEntity after, Duration lease) {
        return inTransaction(locks -> locks.extend(before, after, lease));
    }

    @Override
    public int extend(
            String name,
            long version,
            long expectedToken,
            @Nullable String expectedOwner,
            int holdCount,
            @Nullable Long leaseMicros) {
        return inTransaction(
                locks -> locks.extend(name, version, expectedToken, expectedOwner, holdCount, leaseMicros));
    }

    @Override
    public int extendFromNow(String name, long version, @Nullable Long leaseMicros) {
        return inTransaction(locks -> locks.extendFromNow(name, version, leaseMicros));
    }

    @Override
    public int moveOn(String name, long version) {
        return inTransaction(locks -> locks.moveOn(name, version));
    }

    @Override
    public int createIfMissing(String name) {
        return inTransaction(locks -> locks.createIfMissing(name));
    }

    @Override
    public Optional<LockEntity> findForUpdate(String name) {
        return inTransaction(locks -> locks.findForUpdate(name));
    }

    @Override
    public Optional<LockEntity> findForUpdateNoWait(String name) {
        return inTransaction(locks -> locks.findForUpdateNoWait(name));
    }

    @Override
    public Optional<LockEntity> findForUpdateSkipLocked(String name) {
        return inTransaction(locks -> locks.findForUpdateSkipLocked(name));
    }
}
