package io.github.holdfast.sharding;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockHandles;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.Locks;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

    private final Routes routes;

    private ShardedLocks(Routes routes) {
        this.routes = routes;
    }

    /**
     * Returns the locks of several services.
     *
     * @param shards the lock service of each shard, by the name of the shard. All processes name the shards alike
     * @param sharding the rule
     * @throws IllegalArgumentException if there is no shard, a service has two names, or the rule uses another shard
     */
    public static ShardedLocks of(Map<String, LockService> shards, Sharding sharding) {
        return new ShardedLocks(Routes.of(shards, sharding));
    }

    /**
     * Returns locks for the time of a change to another rule. A name whose shard changes is locked on both shards. So it has one holder,
     * even if some processes still use the old rule. When no process uses the old rule any more, others may use the new one. No process
     * may use the old rule and another the new one at the same time. Both conditions also concern what a process has left
     * behind: leases, renewed ones too, node leases and minimum holds, and after them the lock delay and the clock tolerance.
     *
     * <p>This is true only of locks of this class. A name that moves must not be locked by other means, such as a {@link LockService}, an
     * adapter or an annotation.
     *
     * <p>A lock that moves costs the statements of two locks, and one to read the time of the grant. If one of its two shards fails, it
     * fails. Its handle is held as long as both locks are. The order of acquisition is that of the names of the shards. No transaction can
     * be fenced by both: {@link LockHandle#isFenced} is false, and {@link LockRequest#requireFence} is refused. {@link #serviceFor} refuses
     * the name. Both shards list it. A refused request with a {@linkplain LockRequest#minimumHold minimum hold} may keep the lock
     * unavailable for that long.
     *
     * <p>The lease on the first shard runs during the wait for the second. If it ends, the acquisition starts again, until the wait time is
     * over. With {@link LockRequest#interruptOnLoss}, it ends with an {@link InterruptedException} instead. A {@linkplain
     * LockHandle#downgrade downgrade} that fails on the second shard releases both locks, whatever the exception.
     *
     * <p>Acquire the lock before a transaction begins. Release it after the transaction, on the same thread. If the second shard refuses a
     * request inside a Spring-managed transaction, the first shard's lock stays held until the transaction ends, and no other owner gets
     * it. If another thread releases the lock during a transaction, one shard may defer the release, and the other may not. {@linkplain
     * LockRequest#rowLock Row locks} inside a transaction are refused with {@link IllegalStateException}.
     *
     * <p>The tokens are those of the old shard before {@code nextTokensFrom}, and those of the new shard from then on. Tokens of a name grow
     * if each process with the old rule ends before that time, and each with the new rule starts after it, and if the row of the name on
     * the new shard was inserted well after the row on the old shard: the first token of a row is the time of its insertion in
     * microseconds, by the clock of its database, and each grant adds 1. A minute is enough, and the difference of the clocks. Otherwise
     * tokens may step back, for several grants: if the name is first used during the change, or if the change is repeated and the old
     * shard's row was deleted in between. Use each name once on the old shard before the change, or stop the applications that use its
     * tokens.
     *
     * @param next the new rule, for the same services
     * @param nextTokensFrom from when on grants have the tokens of the new shard, by the clock of its database
     * @throws IllegalArgumentException if the new rule uses another shard
     * @throws IllegalStateException if this object is for a change already
     */
    public ShardedLocks movingTo(Sharding next, Instant nextTokensFrom) {
        return new ShardedLocks(routes.movingTo(next, nextTokensFrom));
    }

    /**
     * Returns the service that has the lock of this name. Use it for what {@link Locks} does not offer: semaphores, tasks, elections, and
     * the tools for operators.
     *
     * @param name the name of a lock, semaphore, task or election
     * @throws IllegalArgumentException if the name has no shard
     * @throws IllegalStateException if the name {@linkplain #movingTo moves}: it would need both of its services
     */
    public LockService serviceFor(String name) {
        routes.moving(name).ifPresent(moving -> {
            throw new IllegalStateException("'" + name + "' moves from shard '"
                    + moving.present().name() + "' to shard '" + moving.next().name() + "': no single service has it");
        });
        return routes.service(routes.shardOf(name));
    }

    @Override
    public Optional<LockHandle> tryAcquire(LockRequest request) {
        Optional<MigratingName> moving = routes.moving(request.name());
        return moving.isPresent()
                ? moving.get().tryAcquire(request)
                : serviceFor(request.name()).tryAcquire(request);
    }

    @Override
    public LockHandle acquire(LockRequest request) throws InterruptedException {
        return routes.moving(request.name()).isPresent()
                ? acquireAll(List.of(request)).handles().get(0)
                : serviceFor(request.name()).acquire(request);
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
        return new JointAcquisition(routes, requests).acquire();
    }

    @Override
    public Lock asLock(String name) {
        return routes.moving(name)
                .map(MigratingName::asLock)
                .orElseGet(() -> serviceFor(name).asLock(name));
    }

    @Override
    public ReadWriteLock asReadWriteLock(String name) {
        return routes.moving(name)
                .map(MigratingName::asReadWriteLock)
                .orElseGet(() -> serviceFor(name).asReadWriteLock(name));
    }

    @Override
    public Optional<LockInfo> find(String name) {
        Optional<MigratingName> moving = routes.moving(name);
        return moving.isPresent() ? moving.get().find() : serviceFor(name).find(name);
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
        List<LockInfo> held = routes.services().stream()
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
        return "ShardedLocks[" + routes + "]";
    }
}
