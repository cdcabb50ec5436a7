package io.github.holdfast.repository.memory;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import io.github.holdfast.repository.rows.LockRunRepository;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The rows of the runs of tasks of {@link InMemoryDatabase}. */
final class InMemoryRunRepository implements LockRunRepository {

    private final InMemoryDatabase database;

    InMemoryRunRepository(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public Optional<LockRun> last(String name) {
        return page(name, Long.MAX_VALUE, 1).stream().findFirst();
    }

    @Override
    public int insert(
            String name,
            long token,
            @Nullable Long period,
            @Nullable String nodeId,
            @Nullable String holder,
            Instant begunAt,
            LockRun.Status status) {
        return database.write("begin", now -> {
            database.runs.put(Row.of(LockRun.class)
                    .with("name", name)
                    .with("fencingToken", token)
                    .with("period", period)
                    .with("nodeId", nodeId)
                    .with("holder", holder)
                    .with("begunAt", begunAt)
                    .with("status", status)
                    .made());
            return 1;
        });
    }

    @Override
    public int endWhileHeld(String name, long token, String owner, LockRun.Status status, @Nullable String error) {
        return finish(
                "end",
                name,
                token,
                status,
                error,
                row -> database.locks
                        .find(RowKey.of(name))
                        .filter(lock -> lock.fencingToken() == token && owner.equals(lock.owner()))
                        .isPresent());
    }

    @Override
    public int endInAnyCase(String name, long token, @Nullable String error) {
        return finish("lose", name, token, LockRun.Status.LOST, error, row -> true);
    }

    private int finish(
            String write,
            String name,
            long token,
            LockRun.Status status,
            @Nullable String error,
            Predicate<LockRun> condition) {
        return database.write(
                write,
                now -> database.runs
                        .find(RowKey.of(name, token))
                        .filter(row -> row.endedAt() == null)
                        .filter(condition)
                        .map(row -> {
                            database.runs.put(Row.like(row)
                                    .with("status", status)
                                    .with("endedAt", now)
                                    .with("error", error)
                                    .made());
                            return 1;
                        })
                        .orElse(0));
    }

    @Override
    public Optional<LockRun> read(String name, long token) {
        return database.read(now -> database.runs.find(RowKey.of(name, token)));
    }

    @Override
    public List<LockRun> lastOfEach(String after, int limit) {
        return database.read(now ->
                database.runs.page(RowKey.of(after, Long.MAX_VALUE), Integer.MAX_VALUE, row -> !hasLater(row)).stream()
                        .limit(limit)
                        .toList());
    }

    private boolean hasLater(LockRun row) {
        return database.runs
                .where(other -> other.name().equals(row.name()) && other.fencingToken() > row.fencingToken())
                .findAny()
                .isPresent();
    }

    @Override
    public List<LockRun> page(String name, long before, int limit) {
        return database.read(now -> database.runs
                .where(row -> row.name().equals(name) && row.fencingToken() < before)
                .sorted(Comparator.comparing(LockRun::fencingToken).reversed())
                .limit(limit)
                .toList());
    }

    @Override
    public List<LockRun> abandoned(String afterName, long afterToken, long graceMicros, int limit) {
        return database.read(now -> database.runs.page(
                RowKey.of(afterName, afterToken),
                limit,
                row -> row.endedAt() == null && !stands(row, now.plus(graceMicros, ChronoUnit.MICROS))));
    }

    private boolean stands(LockRun run, Instant since) {
        return database.locks
                .find(RowKey.of(run.name()))
                .filter(lock -> lock.fencingToken() == run.fencingToken() && lock.owner() != null)
                .filter(lock -> {
                    LockNode node = database.node(lock.nodeId());
                    return node == null
                            ? lock.expiresAt() != null && lock.expiresAt().isAfter(since)
                            : !node.isEnded() || (node.expiresAt().isAfter(since) && !node.isStopped());
                })
                .isPresent();
    }

    @Override
    public List<LockRun> old(long sinceMicros, long longestMicros, String afterName, long afterToken, int limit) {
        return database.read(now -> database.runs.page(
                RowKey.of(afterName, afterToken),
                limit,
                row -> row.endedAt() != null
                        && row.endedAt().isBefore(now.plus(sinceMicros, ChronoUnit.MICROS))
                        && (row.begunAt().isBefore(now.plus(longestMicros, ChronoUnit.MICROS)) || hasLater(row))));
    }

    @Override
    public int purge(String name, List<Long> tokens) {
        return database.write(
                "purgeRuns",
                now -> database.runs.delete(row -> row.name().equals(name) && tokens.contains(row.fencingToken())));
    }
}
