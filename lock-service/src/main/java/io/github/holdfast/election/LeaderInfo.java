package io.github.holdfast.election;

import io.github.holdfast.lock.LockInfo;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The leader of an election, read from the database in one statement.
 *
 * @param name the name of the election
 * @param candidate what the leader calls itself ({@link ElectionRequest#candidate}), or the description of its process; null if the
 *     holder of the lock gave none
 * @param term the term: the fencing token of the lock
 * @param since the beginning of the term, by the database's clock
 */
public record LeaderInfo(String name, @Nullable String candidate, long term, Instant since) {

    static LeaderInfo of(LockInfo holder) {
        String description = holder.holder();
        return new LeaderInfo(
                holder.name(),
                description == null ? null : ElectionRequest.candidateIn(description),
                holder.fencingToken(),
                holder.acquiredAt());
    }
}
