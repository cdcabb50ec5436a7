package io.github.holdfast.repository.memory;

import static io.github.holdfast.repository.memory.InMemoryDatabase.plus;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.rows.WaiterRows.Ticket;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The rows of the locks of {@link InMemoryDatabase}, by compare-and-set. */
final class InMemoryLockRows implements TransactionalLockRows {

    private final InMemoryDatabase database;
    private final InMemoryAudits audits;

    InMemoryLockRows(InMemoryDatabase database, InMemoryAudits audits) {
        this.database = database;
        this.audits = audits;
    }

    private Optional<LockEntity> row(String name) {
        return database.locks.find(RowKey.of(name));
    }

    @Override
    public Optional<LockSnapshot> read(String name) {
        return database.read(now -> row(name).map(row -> database.snapshot(row, now)));
    }

    @Override
    public Optional<String> firstInQueue(String name) {
        return database.read(now -> database.waiting(name::equals, now)
                .filter(Ticket::isFair)
                .map(Ticket::id)
                .findFirst());
    }

    @Override
    public Optional<LockEntity> findForUpdate(String name) {
        return database.read(now -> row(name));
    }

    @Override
    public Optional<LockEntity> findForUpdateSkipLocked(String name) {
        return findForUpdate(name);
    }

    @Override
    public Optional<LockEntity> createIfMissing(String name) {
        return database.write("createIfMissing", now -> {
            if (row(name).isPresent()) {
                return Optional.empty();
            }
            LockEntity free = new LockEntity(name, ChronoUnit.MICROS.between(Instant.EPOCH, now));
            boolean isShared = database.holders
                    .where(holder -> holder.name().equals(name))
                    .findAny()
                    .isPresent();
            LockEntity created = isShared
                    ? Row.like(free)
                            .with("owner", "*")
                            .with("holdCount", -1)
                            .with("acquiredAt", now)
                            .made()
                    : Row.like(free).with("expiresAt", now).made();
            database.locks.put(created);
            return Optional.of(created);
        });
    }

    /** Writes the row if it is the one that the decision was based on. */
    private boolean compareAndSet(
            String write, LockEntity before, Predicate<Stated> condition, UnaryOperator<Stated> next) {
        return database.write(
                write,
                now -> row(before.name())
                        .filter(row -> row.version() == before.version()
                                && row.fencingToken() == before.fencingToken()
                                && Objects.equals(row.owner(), before.owner()))
                        .map(row -> new Stated(row, now))
                        .filter(condition)
                        .map(stated -> {
                            LockEntity written = next.apply(stated).row();
                            database.locks.put(Row.like(written)
                                    .with("version", before.version() + 1)
                                    .made());
                            return true;
                        })
                        .orElse(false));
    }

    /** A row at the time of a statement. */
    private record Stated(LockEntity row, Instant now) {

        boolean isHeld() {
            return row.owner() != null;
        }

        Stated with(String name, @Nullable Object value) {
            return new Stated(Row.like(row).with(name, value).made(), now);
        }

        /** Free from now on, and not available before the delay is over. */
        Stated free() {
            return with("owner", null)
                    .with("nodeId", null)
                    .with("holder", null)
                    .with("holdCount", 0)
                    .with("expiresAt", now);
        }

        Stated delayed(Duration delay) {
            return with("availableAt", later(row.availableAt(), now, delay));
        }
    }

    /** Returns the later one of this time, and of the end of the delay. */
    static Instant later(@Nullable Instant time, Instant now, Duration delay) {
        Instant end = Objects.requireNonNull(plus(now, delay));
        return time != null && time.isAfter(end) ? time : end;
    }

    @Override
    public boolean grant(
            LockEntity before, LockEntity after, @Nullable Duration lease, @Nullable Duration minimumHold) {
        return compareAndSet(
                "grant",
                before,
                stated -> (stated.row().availableAt() == null
                                || !stated.row().availableAt().isAfter(stated.now()))
                        && database.livesIfAny(after.nodeId()),
                stated -> stated.with("owner", after.owner())
                        .with("nodeId", after.nodeId())
                        .with("holder", after.holder())
                        .with("holdCount", 1)
                        .with("fencingToken", after.fencingToken())
                        .with("acquiredAt", stated.now())
                        .with("expiresAt", plus(stated.now(), lease))
                        .with("availableAt", plus(stated.now(), minimumHold)));
    }

    @Override
    public boolean extend(LockEntity before, LockEntity after, Duration lease) {
        return compareAndSet(
                "extend",
                before,
                stated -> stated.isHeld()
                        && stated.row().expiresAt() != null
                        && stated.row().expiresAt().isAfter(stated.now()),
                stated -> stated.with("holdCount", after.holdCount())
                        .with("expiresAt", later(stated.row().expiresAt(), stated.now(), lease)));
    }

    @Override
    public boolean release(LockEntity before, LockEntity after) {
        return after.owner() == null
                ? compareAndSet("release", before, Stated::isHeld, Stated::free)
                : recount(before, after);
    }

    /** Does the same as {@link #release}: this database wakes no waiter. */
    @Override
    public boolean releaseAndWake(LockEntity before, LockEntity after) {
        return release(before, after);
    }

    @Override
    public boolean recount(LockEntity before, LockEntity after) {
        Objects.requireNonNull(after.owner(), "a recount does not free the lock");
        return compareAndSet("recount", before, Stated::isHeld, stated -> stated.with("holdCount", after.holdCount()));
    }

    @Override
    public boolean supersede(String name, long version) {
        return database.write(
                "supersede",
                now -> row(name)
                        .filter(row -> row.version() <= version)
                        .map(row -> {
                            database.locks.put(
                                    Row.like(row).with("version", version + 1).made());
                            return true;
                        })
                        .orElse(false));
    }

    @Override
    public boolean takeFromHolder(LockEntity before, LockEntity after, Duration delay) {
        return compareAndSet(
                "takeFromHolder",
                before,
                Stated::isHeld,
                stated -> stated.free().delayed(delay).with("fencingToken", after.fencingToken()));
    }

    @Override
    public void delay(LockEntity written, Duration delay) {
        boolean unused = database.write(
                "delay",
                now -> row(written.name())
                        .filter(row -> row.version() == written.version())
                        .map(row -> {
                            database.locks.put(
                                    new Stated(row, now).delayed(delay).row());
                            return true;
                        })
                        .orElse(false));
    }

    @Override
    public void recordForcedRelease(LockEntity before, String doneBy, String reason) {
        audits.recordForced(
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
