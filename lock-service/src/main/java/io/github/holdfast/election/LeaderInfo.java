package io.github.holdfast.election;

import io.github.holdfast.lock.LockInfo;
import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The leader of an election, read from the database in one statement.
 *
 * @param name the name of the election
 * @param candidate how other nodes see the leader ({@link ElectionRequest#candidate(String)}): by default, the description of its
 *     process; null if the holder of the lock gave none
 * @param process the description of the leader's process: application, process and host; null if the holder of the lock gave none
 * @param term the term: the fencing token of the lock
 * @param since the beginning of the term, by the database's clock
 */
public record LeaderInfo(
        String name, @Nullable String candidate, @Nullable String process, long term, Instant since) {

    /** Returns the leader of the election whose lock this is; empty if it is not the lock of an election. It costs no statement. */
    public static Optional<LeaderInfo> ofHeld(LockInfo lock) {
        String holder = lock.holder();
        return lock.nodeId() != null && holder != null && ElectionRequest.isOfCandidate(holder)
                ? Optional.of(of(lock))
                : Optional.empty();
    }

    static LeaderInfo of(LockInfo holder) {
        String description = holder.holder();
        return new LeaderInfo(
                holder.name(),
                description == null ? null : ElectionRequest.candidateIn(description),
                description == null ? null : ElectionRequest.processIn(description),
                holder.fencingToken(),
                holder.acquiredAt());
    }
}
