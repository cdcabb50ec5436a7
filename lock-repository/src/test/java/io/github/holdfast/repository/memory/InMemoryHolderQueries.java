package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.rows.HolderRows;
import io.github.holdfast.repository.rows.Micros;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** What is read of the rows of semaphores and holders of {@link InMemoryDatabase}. */
abstract class InMemoryHolderQueries implements HolderRows {

    final InMemoryDatabase database;
    final InMemoryAudits audits;

    InMemoryHolderQueries(InMemoryDatabase database, InMemoryAudits audits) {
        this.database = database;
        this.audits = audits;
    }

    final Optional<LockEntity> lock(String name) {
        return database.locks.find(RowKey.of(name));
    }

    private Stream<LockHolder> of(String name) {
        return database.holders.where(holder -> holder.name().equals(name));
    }

    final long used(String name) {
        return of(name).mapToLong(LockHolder::permits).sum();
    }

    private List<HolderSnapshot> seen(Stream<LockHolder> rows, Instant now) {
        return rows.map(row -> new HolderSnapshot(row, database.node(row.nodeId()), now))
                .toList();
    }

    @Override
    public Optional<Usage> usage(String name) {
        return database.read(now -> lock(name)
                .filter(row -> row.permits() != null)
                .map(row -> new Usage(
                        row.version(),
                        Objects.requireNonNull(row.permits()),
                        used(name),
                        of(name).map(LockHolder::expiresAt)
                                .filter(Objects::nonNull)
                                .min(Comparator.naturalOrder())
                                .orElse(null),
                        now)));
    }

    @Override
    public List<HolderSnapshot> holders(String name) {
        return database.read(now -> seen(of(name), now));
    }

    @Override
    public Optional<List<HolderSnapshot>> sharing(String name, long version) {
        return database.read(
                now -> lock(name).filter(row -> row.version() == version).map(row -> seen(of(name), now)));
    }

    @Override
    public Optional<HolderSnapshot> holder(String name, String owner) {
        return database.read(now -> seen(of(name).filter(row -> row.owner().equals(owner)), now).stream()
                .findFirst());
    }

    @Override
    public Optional<HolderSnapshot> holder(String name, long fencingToken) {
        return database.read(now -> seen(database.holders.find(RowKey.of(name, fencingToken)).stream(), now).stream()
                .findFirst());
    }

    @Override
    public List<HolderSnapshot> living(Collection<String> names, int limit) {
        return database.read(now -> seen(
                database.holders
                        .where(row -> names.contains(row.name()) && database.hasGrant(row, now))
                        .limit(limit),
                now));
    }

    @Override
    public List<LockHolder> heldThrough(String nodeId, String after, long afterToken, int limit) {
        return database.read(
                now -> database.holders.page(RowKey.of(after, afterToken), limit, row -> nodeId.equals(row.nodeId())));
    }

    @Override
    public List<LockHolder> dead(Duration tolerance, String after, long afterToken, int limit) {
        return database.read(now -> database.holders.page(
                RowKey.of(after, afterToken),
                limit,
                row -> isDead(row, now.minus(Micros.of(tolerance), ChronoUnit.MICROS))));
    }

    private boolean isDead(LockHolder row, Instant since) {
        LockNode node = database.node(row.nodeId());
        if (row.nodeId() == null) {
            return row.expiresAt() != null && !row.expiresAt().isAfter(since);
        }
        return node == null
                || (node.isEnded() && (node.isStopped() || !node.expiresAt().isAfter(since)));
    }

    @Override
    public List<Semaphore> page(String after, int limit) {
        return database.read(now -> database.locks.page(RowKey.of(after), limit, row -> row.permits() != null).stream()
                .map(row -> new Semaphore(row.name(), Objects.requireNonNull(row.permits()), used(row.name())))
                .toList());
    }

    @Override
    public List<HolderSnapshot> holders(Collection<String> names, int limit) {
        return database.read(now -> seen(
                database.holders
                        .where(row -> names.contains(row.name())
                                && lock(row.name())
                                        .filter(lock -> lock.permits() != null)
                                        .isPresent())
                        .limit(limit),
                now));
    }

    @Override
    public boolean isRecorded(LimitChange change) {
        return audits.isRecorded(change.id());
    }

    @Override
    public boolean wasForced(Grant grant) {
        return audits.wasForced(grant.name(), grant.fencingToken());
    }

    static boolean isInWindow(LockEntity row, long version) {
        return row.version() >= version && row.version() < version + WINDOW;
    }

    static Predicate<LockHolder> shows(String name, long token, String owner) {
        return row -> row.name().equals(name)
                && row.fencingToken() == token
                && row.owner().equals(owner);
    }

    static LockEntity withoutReservation(LockEntity row) {
        return Row.like(row).with("wantedUntil", null).made();
    }
}
