package io.github.holdfast.service;

import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.repository.rows.LockNodeRepository.Queued;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The queue of waiters for a lock or for permits, with the exclusive holder.
 *
 * @param name the name of the lock or the semaphore
 * @param holder the owner that holds the lock exclusively; null if no owner holds it, if it is shared, and for a semaphore
 * @param waiters in the order of their queue
 */
public record QueueInfo(String name, @Nullable LockInfo holder, List<Waiter> waiters) {

    /**
     * A place in the queue. A node has one place for all its threads that wait for the same. Only a fair request, or one with a chosen
     * owner, has its own.
     *
     * @param node the node that waits
     * @param since since when, by the database's clock as the waiter last read it
     * @param mode what it waits for; exclusive for permits
     */
    public record Waiter(NodeInfo node, Instant since, LockMode mode) {

        private static Waiter of(Queued seen) {
            LockMode mode = seen.mode().equals("S") ? LockMode.SHARED : LockMode.EXCLUSIVE;
            return new Waiter(NodeInfo.of(seen.node()), seen.since(), mode);
        }
    }

    /** Groups waiters by their lock, in the same order. */
    static List<QueueInfo> of(List<Queued> waiters) {
        return waiters.stream()
                .collect(Collectors.groupingBy(Queued::lockName, LinkedHashMap::new, Collectors.toList()))
                .values()
                .stream()
                .map(queue -> new QueueInfo(
                        queue.get(0).lockName(),
                        Optional.ofNullable(queue.get(0).lock())
                                .flatMap(LockInfo::ofHeld)
                                .orElse(null),
                        queue.stream().map(Waiter::of).toList()))
                .toList();
    }
}
