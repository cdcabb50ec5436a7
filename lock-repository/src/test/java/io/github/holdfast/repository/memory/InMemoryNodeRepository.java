package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.StoreException.Failure;
import io.github.holdfast.repository.rows.LockNodeRepository;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;

/** The rows of the nodes of {@link InMemoryDatabase}. */
final class InMemoryNodeRepository implements LockNodeRepository {

    private final InMemoryDatabase database;

    InMemoryNodeRepository(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public Optional<Snapshot> read(String id) {
        return database.read(now -> database.nodes.find(RowKey.of(id)).map(node -> new Snapshot(node, now)));
    }

    @Override
    public List<Snapshot> page(String after, int limit) {
        return database.read(now -> database.nodes.page(RowKey.of(after), limit, node -> true).stream()
                .map(node -> new Snapshot(node, now))
                .toList());
    }

    @Override
    public List<Pulse> living() {
        return database.read(now -> database.nodes
                .where(node -> !node.isEnded())
                .map(node -> new Pulse(node.id(), node.version(), node.lease().toMillis(), now))
                .toList());
    }

    @Override
    public int insert(String id, long leaseMicros, long leaseMillis, @Nullable String description) {
        return database.write("register", now -> {
            if (database.node(id) != null) {
                throw StoreException.of(Failure.CONFLICT, new IllegalStateException("The id is in use: " + id));
            }
            Instant end = now.plus(leaseMicros, ChronoUnit.MICROS);
            database.nodes.put(Row.like(new LockNode(id, now, end, false))
                    .with("description", description)
                    .with("leaseMillis", leaseMillis)
                    .made());
            return 1;
        });
    }

    /** Changes the row of a node that was not ended. */
    private int change(
            String write,
            String id,
            BiPredicate<LockNode, Instant> condition,
            BiFunction<LockNode, Instant, LockNode> next) {
        return database.write(
                write,
                now -> database.nodes
                        .find(RowKey.of(id))
                        .filter(node -> !node.isEnded() && condition.test(node, now))
                        .map(node -> {
                            database.nodes.put(next.apply(node, now));
                            return 1;
                        })
                        .orElse(0));
    }

    @Override
    public int beat(String id, long version, long next, long leaseMicros) {
        return change(
                "beat",
                id,
                (node, now) -> node.version() == version,
                (node, now) -> Row.like(node)
                        .with("expiresAt", now.plus(leaseMicros, ChronoUnit.MICROS))
                        .with("version", next)
                        .made());
    }

    @Override
    public int endOverdue(String id, long sinceMicros) {
        return change(
                "endIfOverdue",
                id,
                (node, now) -> !node.expiresAt().isAfter(now.plus(sinceMicros, ChronoUnit.MICROS)),
                (node, now) -> Row.like(node)
                        .with("ended", true)
                        .with("version", node.version() + 1)
                        .made());
    }

    @Override
    public int waitFor(String id, long micros, @Nullable Long bell) {
        return change(
                "markWaiting",
                id,
                (node, now) -> true,
                (node, now) -> Row.like(node)
                        .with("waitsUntil", now.plus(micros, ChronoUnit.MICROS))
                        .with("bell", bell)
                        .made());
    }

    @Override
    public int listens(String id, long bell) {
        return change(
                "listens",
                id,
                (node, now) -> true,
                (node, now) -> Row.like(node).with("bell", bell).made());
    }

    @Override
    public long countListening(String id, long bell) {
        return database.tables().count("HoldfastNode", Map.of("id", id, "bell", bell, "ended", false));
    }

    @Override
    public int stop(String id, long version, long next) {
        return change(
                "stop",
                id,
                (node, now) -> mayBeOwn(node, version, next),
                (node, now) -> Row.like(node)
                        .with("ended", true)
                        .with("waitsUntil", node.startedAt())
                        .with("version", node.version() + 1)
                        .made());
    }

    @Override
    public int endSilent(String id, long version) {
        return change(
                "endSilent",
                id,
                (node, now) -> node.version() == version,
                (node, now) -> Row.like(node)
                        .with("ended", true)
                        .with("waitsUntil", node.startedAt())
                        .with("version", node.version() + 1)
                        .made());
    }

    private static boolean mayBeOwn(LockNode node, long version, long next) {
        return node.version() - version < LEAST_STEP || (node.version() >= next && node.version() - next < LEAST_STEP);
    }

    @Override
    public int alert(String id) {
        return change(
                "alert",
                id,
                (node, now) -> true,
                (node, now) ->
                        Row.like(node).with("version", node.version() + 1).made());
    }
}
