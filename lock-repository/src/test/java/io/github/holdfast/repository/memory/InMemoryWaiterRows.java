package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.rows.Micros;
import io.github.holdfast.repository.rows.WaiterRows;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The rows of the waiters of {@link InMemoryDatabase}. */
final class InMemoryWaiterRows implements WaiterRows {

    private final InMemoryDatabase database;

    InMemoryWaiterRows(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public void add(Ticket ticket) {
        boolean unused = database.write("addWaiter", now -> {
            if (database.waiters
                    .find(new RowKey(ticket.name(), ticket.since(), ticket.id()))
                    .isEmpty()) {
                database.waiters.put(ticket);
            }
            return true;
        });
    }

    @Override
    public void remove(Ticket ticket) {
        delete(row -> row.since() == ticket.since()
                && row.name().equals(ticket.name())
                && row.id().equals(ticket.id()));
    }

    @Override
    public void removeStray(String name, String id) {
        delete(row -> row.name().equals(name) && row.id().equals(id));
    }

    @Override
    public void removeAll(String name, String nodeId) {
        delete(row -> row.name().equals(name) && row.nodeId().equals(nodeId));
    }

    private void delete(Predicate<Ticket> condition) {
        int unused = database.write("removeWaiter", now -> database.waiters.delete(condition));
    }

    @Override
    public List<String> available(List<String> names, Duration tolerance) {
        return database.read(now -> names.stream()
                .filter(name -> database.locks
                        .find(RowKey.of(name))
                        .map(row -> isAvailable(row, now, now.minus(Micros.of(tolerance), ChronoUnit.MICROS)))
                        .orElse(true))
                .toList());
    }

    private boolean isAvailable(LockEntity row, Instant now, Instant since) {
        boolean isSoon = row.availableAt() != null && row.availableAt().isAfter(now);
        int limit = row.permits() == null ? 1 : row.permits();
        return !isSoon && (row.holdCount() == -1 ? limit > used(row, now, since) : isLeft(row, since));
    }

    private boolean isLeft(LockEntity row, Instant since) {
        LockNode node = database.node(row.nodeId());
        if (row.owner() == null) {
            return true;
        }
        if (node == null) {
            return row.expiresAt() == null
                    ? row.nodeId() != null
                    : !row.expiresAt().isAfter(since);
        }
        return node.isStopped() || !node.expiresAt().isAfter(since);
    }

    /** How many permits living holders have. While nobody wants a shared lock, its holders do not count. */
    private int used(LockEntity row, Instant now, Instant since) {
        if (row.permits() == null && !row.isReserved(now)) {
            return 0;
        }
        return database.holders
                .where(holder ->
                        holder.name().equals(row.name()) && lives(holder, database.node(holder.nodeId()), since))
                .mapToInt(LockHolder::permits)
                .sum();
    }

    private static boolean lives(LockHolder holder, @Nullable LockNode node, Instant since) {
        if (holder.nodeId() == null) {
            return holder.expiresAt() != null && holder.expiresAt().isAfter(since);
        }
        return node != null && !node.isStopped() && node.expiresAt().isAfter(since);
    }

    @Override
    public int countOtherNodes(String name, String nodeId) {
        return database.read(now -> (int) database.waiting(name::equals, now)
                .map(Ticket::nodeId)
                .filter(id -> !id.equals(nodeId))
                .distinct()
                .count());
    }
}
