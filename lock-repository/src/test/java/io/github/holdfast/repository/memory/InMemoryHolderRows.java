package io.github.holdfast.repository.memory;

import static io.github.holdfast.repository.memory.InMemoryDatabase.plus;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.Grant.Kind;
import io.github.holdfast.repository.rows.Micros;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** The rows of semaphores and holders of {@link InMemoryDatabase}. */
final class InMemoryHolderRows extends InMemoryHolderQueries {

    InMemoryHolderRows(InMemoryDatabase database, InMemoryAudits audits) {
        super(database, audits);
    }

    @Override
    public void createIfMissing(String name, int limit) {
        boolean unused = database.write("createSemaphore", now -> {
            if (lock(name).isEmpty()) {
                LockEntity row = new LockEntity(name, ChronoUnit.MICROS.between(Instant.EPOCH, now));
                database.locks.put(Row.like(row)
                        .with("owner", "*")
                        .with("holdCount", -1)
                        .with("permits", limit)
                        .made());
            }
            return true;
        });
    }

    @Override
    public Optional<Grant> grant(Claim claim, long version) {
        return database.write(
                "grantPermits",
                now -> lock(claim.name())
                        .filter(row -> row.permits() != null && isInWindow(row, version))
                        .map(row -> written(row, Row.like(row).with("fencingToken", row.fencingToken() + 1)))
                        .filter(row -> Objects.requireNonNull(row.permits()) >= claim.permits() + used(claim.name())
                                && database.livesIfAny(claim.nodeId()))
                        .map(row -> added(claim, row.fencingToken(), now)));
    }

    /** Writes a row with its next version. */
    private LockEntity written(LockEntity before, Row<LockEntity> changed) {
        LockEntity next = changed.with("version", before.version() + 1).made();
        database.locks.put(next);
        return next;
    }

    private Grant added(Claim claim, long token, Instant now) {
        database.holders.put(Row.of(LockHolder.class)
                .with("name", claim.name())
                .with("fencingToken", token)
                .with("owner", claim.owner())
                .with("nodeId", claim.nodeId())
                .with("permits", claim.permits())
                .with("acquiredAt", now)
                .with("expiresAt", plus(now, claim.lease()))
                .with("holder", claim.holder())
                .made());
        return new Grant(Kind.SHARE, claim.name(), claim.owner(), token);
    }

    @Override
    public Optional<Grant> share(Claim claim, long version) {
        return database.write(
                "share",
                now -> lock(claim.name())
                        .filter(row -> row.permits() == null
                                && isInWindow(row, version)
                                && (row.owner() == null || row.isShared())
                                && (row.availableAt() == null
                                        || !row.availableAt().isAfter(now))
                                && !row.isReserved(now))
                        .map(row -> shared(
                                row.isShared() ? row : withoutReservation(row), claim, row.fencingToken() + 1, now))
                        .filter(row -> database.livesIfAny(claim.nodeId()))
                        .map(row -> added(claim, row.fencingToken(), now)));
    }

    private LockEntity shared(LockEntity row, Claim claim, long token, Instant now) {
        return written(
                row,
                Row.like(row)
                        .with("owner", "*" + claim.owner())
                        .with("nodeId", null)
                        .with("holder", null)
                        .with("holdCount", -1)
                        .with("fencingToken", token)
                        .with("acquiredAt", now)
                        .with("expiresAt", null));
    }

    @Override
    public Optional<Grant> downgrade(LockEntity held, Claim claim) {
        return database.write(
                "downgrade",
                now -> lock(held.name())
                        .filter(row -> row.version() == held.version()
                                && row.isSameGrantAs(held)
                                && (row.nodeId() != null
                                        || (row.expiresAt() != null
                                                && row.expiresAt().isAfter(now)))
                                && database.livesIfAny(claim.nodeId()))
                        .map(row -> shared(withoutReservation(row), claim, held.fencingToken() + 1, now))
                        .map(row -> added(claim, row.fencingToken(), now)));
    }

    @Override
    public void reserve(String name, Duration time) {
        reserveUntil(name, time);
    }

    @Override
    public void cancelReservation(String name) {
        reserveUntil(name, null);
    }

    private void reserveUntil(String name, @Nullable Duration time) {
        boolean unused = database.write("reserve", now -> {
            lock(name)
                    .filter(row -> row.holdCount() == -1)
                    .ifPresent(row -> database.locks.put(
                            Row.like(row).with("wantedUntil", plus(now, time)).made()));
            return true;
        });
    }

    @Override
    public boolean supersede(String name, long version) {
        return database.write(
                "supersedeGrant",
                now -> lock(name)
                        .filter(row -> row.version() < version + WINDOW)
                        .map(row -> {
                            database.locks.put(Row.like(row)
                                    .with("version", version + WINDOW)
                                    .made());
                            return true;
                        })
                        .orElse(false));
    }

    @Override
    public boolean release(Grant grant) {
        return database.write(
                "releaseShare",
                now -> database.holders.delete(shows(grant.name(), grant.fencingToken(), grant.owner())) == 1);
    }

    /** Changes the row of a holder that still has its grant. */
    private boolean change(
            String write,
            Grant grant,
            BiPredicate<LockHolder, Instant> condition,
            BiFunction<LockHolder, Instant, LockHolder> next) {
        return database.write(
                write,
                now -> database.holders
                        .find(RowKey.of(grant.name(), grant.fencingToken()))
                        .filter(row -> row.owner().equals(grant.owner()) && condition.test(row, now))
                        .map(row -> {
                            database.holders.put(next.apply(row, now));
                            return true;
                        })
                        .orElse(false));
    }

    @Override
    public boolean extend(Grant grant, Duration lease) {
        return change(
                "extendShare",
                grant,
                (row, now) -> row.expiresAt() != null && row.expiresAt().isAfter(now),
                (row, now) -> Row.like(row)
                        .with("expiresAt", InMemoryLockRows.later(row.expiresAt(), now, lease))
                        .made());
    }

    @Override
    public boolean touch(Grant grant) {
        return change("touch", grant, (row, now) -> true, (row, now) -> row);
    }

    @Override
    public boolean removeDead(LockHolder dead, Duration tolerance) {
        return database.write("removeDead", now -> {
            Instant since = now.minus(Micros.of(tolerance), ChronoUnit.MICROS);
            return database.holders.delete(shows(dead.name(), dead.fencingToken(), dead.owner())
                            .and(row -> row.nodeId() != null
                                    || (row.expiresAt() != null
                                            && !row.expiresAt().isAfter(since))))
                    == 1;
        });
    }

    @Override
    public boolean setLimit(LimitChange change, long version) {
        boolean isSet = database.write(
                "setLimit",
                now -> lock(change.name())
                        .filter(row -> row.permits() != null && row.version() == version)
                        .map(row -> written(row, Row.like(row).with("permits", change.limit())))
                        .isPresent());
        if (isSet) {
            audits.record(change, lock(change.name()).orElseThrow().fencingToken());
        }
        return isSet;
    }

    @Override
    public boolean takeFromHolder(LockHolder holder, Duration notices, String doneBy, String reason) {
        boolean isTaken = change(
                "takeShare",
                Grant.of(holder),
                (row, now) -> true,
                (row, now) -> Row.like(row)
                        .with("owner", LockHolder.FORCED)
                        .with("nodeId", null)
                        .with("expiresAt", row.expiresAt() == null ? plus(now, notices) : row.expiresAt())
                        .made());
        if (isTaken) {
            audits.recordForced(
                    holder.name(),
                    holder.owner(),
                    holder.nodeId(),
                    holder.holder(),
                    holder.fencingToken(),
                    holder.permits(),
                    doneBy,
                    reason);
        }
        return isTaken;
    }
}
