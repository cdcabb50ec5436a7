package io.github.holdfast.integration;

import java.time.Duration;
import org.springframework.integration.support.locks.DistributedLock;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;

/** A registry of pairs: each lock is one of Holdfast and one of the old registry. Thread-safe. */
final class TransitionLockRegistry implements RenewableLockRegistry<DistributedLock> {

    private final HoldfastLockRegistry registry;
    private final LockRegistry<?> former;

    TransitionLockRegistry(HoldfastLockRegistry registry, LockRegistry<?> former) {
        this.registry = registry;
        this.former = former;
    }

    @Override
    public DistributedLock obtain(Object lockKey) {
        return new TransitionLock(registry.lock(lockKey), former.obtain(lockKey));
    }

    @Override
    public void renewLock(Object lockKey) {
        registry.renewLock(lockKey);
        if (former instanceof RenewableLockRegistry<?> renewable) {
            renewable.renewLock(lockKey);
        }
    }

    @Override
    public void renewLock(Object lockKey, Duration ttl) {
        registry.renewLock(lockKey, ttl);
        if (former instanceof RenewableLockRegistry<?> renewable) {
            renewable.renewLock(lockKey, ttl);
        }
    }

    @Override
    public String toString() {
        return "TransitionLockRegistry[" + registry + ", " + former + "]";
    }
}
