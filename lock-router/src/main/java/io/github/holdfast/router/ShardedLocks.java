package io.github.holdfast.router;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;

/**
 * Locks on several databases, the shards. Each shard has a {@link LockService} of its own, and a {@link Sharding} decides which of them
 * has the lock of a name. A lock is what it is on its shard: it costs the same statements, and has the same guarantees. No statement
 * concerns two shards. If a shard fails, only its own locks fail.
 *
 * <p>The services belong to you. This object has no threads and no connections, and there is nothing to close but the services.
 * Thread-safe.
 *
 * <pre>{@code
 * Locks locks = ShardedLocks.of(
 *         Map.of("orders", orderLocks, "archive", archiveLocks),
 *         Sharding.byPrefix(Map.of("archive:", "archive", "", "orders")));
 * }</pre>
 */
public final class ShardedLocks implements Locks {

    /** As databases compare names: byte by byte. */
    private static final Comparator<LockInfo> BY_NAME =
            Comparator.comparing(held -> held.name().getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned);

    private final SortedMap<String, LockService> shards;
    private final Sharding sharding;

    private ShardedLocks(SortedMap<String, LockService> shards, Sharding sharding) {
        this.shards = shards;
        this.sharding = sharding;
    }

    /**
     * Returns the locks of several services.
     *
     * @param shards the lock service of each shard, by the name of the shard. All processes name the shards alike
     * @param sharding the rule
     * @throws IllegalArgumentException if there is no shard, a service has two names, or the rule uses another shard
     */
    public static ShardedLocks of(Map<String, LockService> shards, Sharding sharding) {
        SortedMap<String, LockService> sorted = new TreeMap<>(Map.copyOf(shards));
        if (sorted.isEmpty()) {
            throw new IllegalArgumentException("There is no shard");
        }
        Map<LockService, String> names = new HashMap<>();
        sorted.forEach((name, service) -> {
            String other = names.put(service, name);
            if (other != null) {
                throw new IllegalArgumentException(
                        "The shards '" + other + "' and '" + name + "' are the same service");
            }
        });
        return new ShardedLocks(sorted, checked(sharding, sorted));
    }

    private static Sharding checked(Sharding sharding, Map<String, LockService> shards) {
        for (String shard : sharding.shards()) {
            if (!shards.containsKey(shard)) {
                throw new IllegalArgumentException(unknown(shard, shards));
            }
        }
        return sharding;
    }

    private static String unknown(String shard, Map<String, LockService> shards) {
        return "There is no shard '" + shard + "', only " + shards.keySet();
    }

    /**
     * Returns the service that has the lock of this name. Use it for what {@link Locks} does not offer: semaphores, tasks, elections, and
     * the tools for operators.
     *
     * @param name the name of a lock, semaphore, task or election
     * @throws IllegalArgumentException if the name has no shard
     */
    public LockService serviceFor(String name) {
        return service(sharding.shardOf(name));
    }

    private LockService service(String shard) {
        LockService service = shards.get(shard);
        if (service == null) {
            throw new IllegalArgumentException(unknown(shard, shards));
        }
        return service;
    }

    @Override
    public Optional<LockHandle> tryAcquire(LockRequest request) {
        return serviceFor(request.name()).tryAcquire(request);
    }

    @Override
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        return serviceFor(request.name()).acquire(request);
    }

    /** A lock to acquire on a shard. */
    private record Step(String shard, LockRequest request) {

        /** The same in all processes, and in all steps of a change of the rule. */
        static final Comparator<Step> ORDER = Comparator.comparing(Step::shard)
                .thenComparing(step -> step.request().name());
    }

    /**
     * {@inheritDoc}
     *
     * <p>Here the order is that of the names of the shards, and then of the locks. Each other caller with the same shards acquires in this
     * order too.
     *
     * @return the handles of all locks, in the order of their acquisition
     * @see Locks#acquireAll for the exceptions
     */
    @Override
    public LockHandles acquireAll(Collection<LockRequest> requests) throws InterruptedException {
        checkNames(requests);
        long start = System.nanoTime();
        Duration wait = requests.stream()
                .map(request -> request.waitTime().orElse(LockRequest.DEFAULT_WAIT))
                .min(Comparator.naturalOrder())
                .orElseThrow();
        List<LockHandle> acquired = new ArrayList<>();
        try {
            for (Step step : steps(requests)) {
                acquired.add(service(step.shard()).acquire(step.request().waitAtMost(left(wait, start))));
            }
        } catch (RuntimeException | Error | InterruptedException notAcquired) {
            LockHandles.of(acquired).release();
            throw notAcquired;
        }
        return LockHandles.of(acquired);
    }

    private List<Step> steps(Collection<LockRequest> requests) {
        return requests.stream()
                .map(request -> new Step(sharding.shardOf(request.name()), request))
                .sorted(Step.ORDER)
                .toList();
    }

    private static Duration left(Duration wait, long start) {
        Duration left = wait.minusNanos(System.nanoTime() - start);
        return left.isNegative() ? Duration.ZERO : left;
    }

    private static void checkNames(Collection<LockRequest> requests) {
        if (requests.isEmpty()) {
            throw new IllegalArgumentException("There is nothing to acquire");
        }
        if (requests.stream().map(LockRequest::name).distinct().count() < requests.size()) {
            throw new IllegalArgumentException("A lock was named twice");
        }
    }

    @Override
    public Lock asLock(String name) {
        return serviceFor(name).asLock(name);
    }

    @Override
    public ReadWriteLock asReadWriteLock(String name) {
        return serviceFor(name).asReadWriteLock(name);
    }

    @Override
    public Optional<LockInfo> find(String name) {
        return serviceFor(name).find(name);
    }

    /**
     * Returns the held locks of all shards, one page at a time, like {@link LockAdmin#held}. It asks all shards, one after the other.
     *
     * @param afterName the last name of the previous page; the empty string for the first page
     * @param limit 1 to {@link LockAdmin#MAX_PAGE_SIZE}
     * @return in the order of their names; empty if there are no more
     * @throws IllegalArgumentException if the limit is out of range
     * @throws IllegalStateException if one of the services is closed
     * @throws LockStoreException if one of the databases failed. Ask {@link LockAdmin#held} of the other shards then
     */
    public List<LockInfo> held(String afterName, int limit) {
        List<LockInfo> held = shards.values().stream()
                .flatMap(service -> service.admin().held(afterName, limit).stream())
                .sorted(BY_NAME)
                .toList();
        int end = Math.min(limit, held.size());
        while (end < held.size()
                && held.get(end).name().equals(held.get(end - 1).name())) {
            end++;
        }
        return held.subList(0, end);
    }

    @Override
    public String toString() {
        return "ShardedLocks[shards=" + shards.keySet() + ", sharding=" + sharding + "]";
    }
}
