package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.LockPageRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.SqlPattern;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** The pages of the tables of {@link InMemoryDatabase}. */
final class InMemoryPageRepository implements LockPageRepository {

    private final InMemoryDatabase database;

    InMemoryPageRepository(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public long clockMicros() {
        return database.read(now -> ChronoUnit.MICROS.between(Instant.EPOCH, now));
    }

    @Override
    public List<LockNodeRepository.Queued> queued(String name, int limit) {
        return database.read(now -> database.waiting(waited -> name.isEmpty() || waited.equals(name), now)
                .limit(limit)
                .map(ticket -> new LockNodeRepository.Queued(
                        ticket.name(),
                        Instant.EPOCH.plus(ticket.since(), ChronoUnit.MICROS),
                        ticket.mode().code(),
                        seen(ticket.nodeId(), now),
                        database.locks
                                .find(RowKey.of(ticket.name()))
                                .map(row -> database.snapshot(row, now))
                                .orElse(null)))
                .toList());
    }

    private LockNodeRepository.Snapshot seen(String nodeId, Instant now) {
        return new LockNodeRepository.Snapshot(Objects.requireNonNull(database.node(nodeId)), now);
    }

    @Override
    public List<LockAudit> acts(String name, int limit) {
        return database.read(now -> database.audits
                .where(row -> row.lockName().equals(name))
                .sorted(Comparator.comparing(LockAudit::doneAt).reversed().thenComparing(LockAudit::id))
                .limit(limit)
                .toList());
    }

    @Override
    public List<LockSnapshot> heldThroughNodes(String holder, String after, int limit) {
        SqlPattern pattern = new SqlPattern(holder, '\\');
        return locks(
                after,
                limit,
                (row, now) -> row.owner() != null
                        && isUnended(database.node(row.nodeId()))
                        && row.holder() != null
                        && pattern.matches(row.holder()));
    }

    private static boolean isUnended(@Nullable LockNode node) {
        return node != null && !node.isEnded();
    }

    private List<LockSnapshot> locks(String after, int limit, BiPredicate<LockEntity, Instant> condition) {
        return database.read(now ->
                database.locks.page(RowKey.of(after), limit, row -> condition.test(row, now)).stream()
                        .map(row -> database.snapshot(row, now))
                        .toList());
    }

    private List<LockEntity> rows(
            String after, long sinceMicros, int limit, BiPredicate<LockEntity, Instant> condition) {
        return locks(after, limit, (row, now) -> condition.test(row, now.plus(sinceMicros, ChronoUnit.MICROS))).stream()
                .map(LockSnapshot::row)
                .toList();
    }

    private List<String> nodes(String after, long sinceMicros, int limit, BiPredicate<LockNode, Instant> condition) {
        return database.read(now -> database
                .nodes
                .page(RowKey.of(after), limit, node -> condition.test(node, now.plus(sinceMicros, ChronoUnit.MICROS)))
                .stream()
                .map(LockNode::id)
                .toList());
    }

    @Override
    public List<LockEntity> heldThrough(String nodeId, String after, int limit) {
        return rows(after, 0, limit, (row, since) -> nodeId.equals(row.nodeId()));
    }

    @Override
    public List<String> overdueNodes(String after, long sinceMicros, int limit) {
        return nodes(
                after,
                sinceMicros,
                limit,
                (node, since) -> !node.isEnded() && !node.expiresAt().isAfter(since));
    }

    @Override
    public List<LockEntity> orphans(String after, long sinceMicros, int limit) {
        return rows(after, sinceMicros, limit, this::isOrphan);
    }

    private boolean isOrphan(LockEntity row, Instant since) {
        LockNode node = database.node(row.nodeId());
        if (node == null) {
            return row.nodeId() != null
                    && (row.expiresAt() == null || !row.expiresAt().isAfter(since));
        }
        return node.isEnded() && (node.isStopped() || !node.expiresAt().isAfter(since));
    }

    @Override
    public List<LockEntity> idle(String after, long sinceMicros, int limit) {
        return rows(after, sinceMicros, limit, this::isIdle);
    }

    private boolean isIdle(LockEntity row, Instant since) {
        boolean isLongFree = isBefore(row.expiresAt(), since)
                || (row.isShared()
                        && isBefore(row.acquiredAt(), since)
                        && database.holders
                                .where(holder -> holder.name().equals(row.name()))
                                .findAny()
                                .isEmpty());
        return row.nodeId() == null
                && isLongFree
                && (row.availableAt() == null || row.availableAt().isBefore(since));
    }

    private static boolean isBefore(@Nullable Instant instant, Instant since) {
        return instant != null && instant.isBefore(since);
    }

    @Override
    public List<String> idleNodes(String after, long sinceMicros, int limit) {
        return nodes(
                after,
                sinceMicros,
                limit,
                (node, since) -> node.isEnded() && node.expiresAt().isBefore(since));
    }

    @Override
    public List<LockNodeRepository.Waiting> waiting(Collection<String> names) {
        return database.read(now -> database.waiting(names::contains, now)
                .map(ticket -> new LockNodeRepository.Waiting(ticket.name(), seen(ticket.nodeId(), now)))
                .toList());
    }

    @Override
    public List<String> named(List<String> ids) {
        return database.read(now -> database.locks
                .where(row -> row.nodeId() != null && ids.contains(row.nodeId()))
                .map(LockEntity::nodeId)
                .distinct()
                .map(Objects::requireNonNull)
                .toList());
    }

    @Override
    public List<LockEntity> lockUnlockedRows(List<String> names) {
        return database.read(
                now -> database.locks.where(row -> names.contains(row.name())).toList());
    }

    @Override
    public int takeFromHolder(List<String> names, long delayMicros) {
        return database.write("takeFromHolders", now -> {
            List<LockEntity> taken = database.locks
                    .where(row -> names.contains(row.name()))
                    .map(row -> Row.like(row.takenFromHolder())
                            .with("expiresAt", now)
                            .with(
                                    "availableAt",
                                    InMemoryLockRows.later(
                                            row.availableAt(), now, Duration.of(delayMicros, ChronoUnit.MICROS)))
                            .made())
                    .toList();
            taken.forEach(database.locks::put);
            return taken.size();
        });
    }

    @Override
    public int purge(List<String> names) {
        return database.write("purge", now -> database.locks.delete(row -> names.contains(row.name())));
    }

    @Override
    public int purgeNodes(List<String> ids) {
        return database.write(
                "purgeNodes", now -> database.nodes.delete(node -> node.isEnded() && ids.contains(node.id())));
    }

    @Override
    public int purgeWaiters() {
        return database.write(
                "purgeWaiters",
                now -> database.waiters.delete(ticket -> Optional.ofNullable(database.node(ticket.nodeId()))
                        .map(LockNode::isEnded)
                        .orElse(true)));
    }
}
