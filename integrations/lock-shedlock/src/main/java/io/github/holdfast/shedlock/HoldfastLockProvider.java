package io.github.holdfast.shedlock;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.Locks;
import java.util.Objects;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * Keeps ShedLock's locks in Holdfast's tables. An application that uses ShedLock changes only its {@code LockProvider} bean, and
 * keeps its annotations:
 *
 * <pre>{@code
 * @Bean
 * LockProvider lockProvider(LockService locks) {
 *     return HoldfastLockProvider.of(locks);
 * }
 * }</pre>
 *
 * <p>A lock has the lease {@code lockAtMostFor} and the minimum hold {@code lockAtLeastFor}. Both start at the grant, by the
 * database's clock. The lock is not re-entrant. Its name is a name of Holdfast: an application's own lock of the same name excludes
 * it. Transactions that begin on the locking thread before the unlock commit only if no other owner has got the lock since.
 * After an unlock inside a transaction, the same thread may lock the name again in that transaction, unless {@code lockAtLeastFor} forbids
 * it. It then has the rest of the first {@code lockAtMostFor}, or the new one if the provider is {@link #detached}.
 *
 * <p>Immutable: {@link #keepAlive} and {@link #detached} return copies. Thread-safe.
 */
public final class HoldfastLockProvider implements ExtensibleLockProvider {

    private final Locks locks;
    private final KeepAlive keepAlive;
    private final Binding binding;
    private final Durations durations = new Durations();

    /** Whether locks belong to the thread that acquires them. */
    private enum Binding {
        THREAD,
        NONE
    }

    private HoldfastLockProvider(Locks locks, KeepAlive keepAlive, Binding binding) {
        this.locks = locks;
        this.keepAlive = keepAlive;
        this.binding = binding;
    }

    /**
     * Returns a provider that holds locks with leases.
     *
     * @param locks usually a {@code LockService}; the provider does not close it
     */
    public static HoldfastLockProvider of(Locks locks) {
        return new HoldfastLockProvider(Objects.requireNonNull(locks, "locks"), KeepAlive.BY_LEASE, Binding.THREAD);
    }

    /**
     * Returns a provider that ignores {@code lockAtMostFor}. It holds a lock until the unlock, as long as the process lives and
     * reaches the database. The service's heartbeat keeps all such locks. This replaces ShedLock's {@code KeepAliveLockProvider}.
     * After the process has died, the lock becomes free when the lease of its node is over.
     */
    public HoldfastLockProvider keepAlive() {
        return new HoldfastLockProvider(locks, KeepAlive.BY_NODE, binding);
    }

    /**
     * Returns a provider whose locks do not belong to the locking thread. Its locks do not fence transactions. An unlock waits only
     * for a transaction in which the lock was acquired or unlocked. Use it if one thread locks, another one unlocks, and the first
     * one goes on with other transactions.
     */
    public HoldfastLockProvider detached() {
        return new HoldfastLockProvider(locks, keepAlive, Binding.NONE);
    }

    /**
     * Returns a provider that acquires each lock twice: from the old provider, and then from this one. Use it while you move
     * from one to the other without a stop. A node with this provider excludes nodes that have only the old one, and nodes that
     * have only this one. It refuses a lock if either refuses. Its locks can be extended if the old provider's can.
     *
     * @param former the provider that the application used before
     */
    public LockProvider togetherWith(LockProvider former) {
        return new JointLockProvider(Objects.requireNonNull(former, "former"), this);
    }

    /**
     * Acquires a lock if it is free. It does not wait for a holder. Not interruptible. It costs what {@link Locks#tryAcquire} costs,
     * and one commit more with {@code lockAtLeastFor}.
     *
     * <p>A {@code lockAtMostFor} of more than {@link LockRequest#LONGEST_DURATION} counts as that duration, and one of less than
     * {@link LockRequest#SHORTEST_LEASE} as one second. The same maximum applies to {@code lockAtLeastFor}. The provider logs one
     * warning when it changes the first duration.
     *
     * @return the lock; empty if it is held, or {@code lockAtLeastFor} of its last holder is not over. Any thread may use the lock,
     *     but only one at a time
     * @throws IllegalArgumentException if the name breaks the rules of {@link LockRequest#of}
     * @throws IllegalStateException as for {@link Locks#tryAcquire}, for instance because the service is closed
     * @throws LockException if the database failed, or the lease had expired before the database answered
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        LockRequest request = request(configuration);
        long sentAt = System.nanoTime();
        try {
            return locks.tryAcquire(request)
                    .map(handle -> new HeldLock(
                            configuration,
                            bound(handle),
                            keepAlive,
                            durations,
                            MinimumHold.ofGrant(sentAt, configuration)));
        } catch (LockStoreException | LockLostException failed) {
            throw new LockException("Lock '" + configuration.getName() + "' was not acquired", failed);
        }
    }

    private LockRequest request(LockConfiguration configuration) {
        LockRequest request = keepAlive.request(
                LockRequest.of(configuration.getName()).notReentrant().minimumHold(durations.atLeast(configuration)),
                durations,
                configuration);
        return binding == Binding.NONE ? request.withoutFence() : request;
    }

    private LockHandle bound(LockHandle handle) {
        return binding == Binding.NONE ? handle.detach() : handle;
    }

    @Override
    public String toString() {
        return "HoldfastLockProvider[keepAlive=%s, binding=%s]".formatted(keepAlive, binding);
    }
}
