package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockHolder;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.rows.LockSearchRepository;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.store.SqlPattern;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The search for held locks of {@link InMemoryDatabase}. */
final class InMemorySearchRepository implements LockSearchRepository {

    private final InMemoryDatabase database;

    InMemorySearchRepository(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public List<LockSnapshot> held(String after, int limit) {
        return search("", after, "", "%", "ANY", limit);
    }

    @Override
    public List<LockSnapshot> search(
            String first, String after, String before, String holder, String state, int limit) {
        SqlPattern pattern = new SqlPattern(holder, '!');
        return database.read(now -> database
                .locks
                .page(
                        RowKey.of(after),
                        limit,
                        row -> row.name().startsWith(first)
                                && (before.isEmpty() || row.name().compareTo(before) < 0)
                                && isHeld(row, now)
                                && isIn(state, row, now)
                                && (holder.equals("%") || isOf(pattern, row, now)))
                .stream()
                .map(row -> database.snapshot(row, now))
                .toList());
    }

    private boolean isHeld(LockEntity row, Instant now) {
        LockNode node = database.node(row.nodeId());
        boolean isByOwner =
                node == null ? row.expiresAt() != null && row.expiresAt().isAfter(now) : !node.isEnded();
        return row.owner() != null
                && (isByOwner || (row.isShared() && sharers(row, now).findAny().isPresent()));
    }

    private Stream<LockHolder> sharers(LockEntity row, Instant now) {
        return database.holders.where(holder -> holder.name().equals(row.name()) && database.hasGrant(holder, now));
    }

    private boolean isIn(String state, LockEntity row, Instant now) {
        return switch (state) {
            case "ALONE" -> row.holdCount() > 0;
            case "SHARED" -> row.holdCount() == -1;
            case "OVERDUE" ->
                isOver(database.node(row.nodeId()), now)
                        || (row.holdCount() == -1
                                && sharers(row, now).anyMatch(holder -> isOver(database.node(holder.nodeId()), now)));
            case "WAITED_FOR" ->
                database.waiting(row.name()::equals, now).findAny().isPresent();
            default -> true;
        };
    }

    private static boolean isOver(@Nullable LockNode node, Instant now) {
        return node != null && !node.expiresAt().isAfter(now);
    }

    private boolean isOf(SqlPattern pattern, LockEntity row, Instant now) {
        return row.holdCount() > 0
                ? matches(pattern, row.holder(), row.owner(), row.nodeId())
                : sharers(row, now).anyMatch(share -> matches(pattern, share.holder(), share.owner(), share.nodeId()));
    }

    private static boolean matches(SqlPattern pattern, @Nullable String... texts) {
        return Stream.of(texts).anyMatch(text -> pattern.matches(text == null ? "" : text.toLowerCase(Locale.ROOT)));
    }
}
