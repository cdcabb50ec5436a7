package io.github.holdfast.repository;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.entity.LockNode;
import io.github.holdfast.entity.LockRun;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** The rows of the runs of tasks of {@link InMemoryDatabase}. */
final class InMemoryRunRows implements RunRows {

    private final InMemoryDatabase database;

    InMemoryRunRows(InMemoryDatabase database) {
        this.database = database;
    }

    @Override
    public Optional<LockRun> last(String name) {
        return page(name, Long.MAX_VALUE, 1).stream().findFirst();
    }

    @Override
    public void begin(LockEntity granted, @Nullable Long period, Instant begunAt) {
        boolean unused = database.write("begin", now -> {
            database.runs.put(Row.of(LockRun.class)
                    .with("name", granted.name())
                    .with("fencingToken", granted.fencingToken())
                    .with("period", period)
                    .with("nodeId", granted.nodeId())
                    .with("holder", granted.holder())
                    .with("begunAt", begunAt)
                    .with("status", LockRun.Status.RUNNING)
                    .made());
            return true;
        });
    }

    @Override
    public boolean end(Grant grant, LockRun.Status status, @Nullable String error) {
        return finish(
                "end",
                grant.name(),
                grant.fencingToken(),
                status,
                error,
                row -> database.locks
                        .find(RowKey.of(grant.name()))
                        .filter(lock -> lock.fencingToken() == grant.fencingToken()
                                && grant.owner().equals(lock.owner()))
                        .isPresent());
    }

    @Override
    public boolean lose(String name, long fencingToken, @Nullable String error) {
        return finish("lose", name, fencingToken, LockRun.Status.LOST, error, row -> true);
    }

    private boolean finish(
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
                            return true;
                        })
                        .orElse(false));
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
