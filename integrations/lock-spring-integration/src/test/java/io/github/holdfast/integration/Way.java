package io.github.holdfast.integration;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.springframework.integration.support.locks.DistributedLock;

/** The methods that lock. */
enum Way {
    LOCK,
    LOCK_WITH_TTL,
    LOCK_INTERRUPTIBLY,
    TRY_LOCK,
    TRY_LOCK_WITH_TIME,
    TRY_LOCK_WITH_TTL;

    /** Longer than a test. */
    static final Duration TTL = Duration.ofMinutes(5);

    boolean lock(DistributedLock lock) throws InterruptedException {
        switch (this) {
            case LOCK -> lock.lock();
            case LOCK_WITH_TTL -> lock.lock(TTL);
            case LOCK_INTERRUPTIBLY -> lock.lockInterruptibly();
            case TRY_LOCK -> {
                return lock.tryLock();
            }
            case TRY_LOCK_WITH_TIME -> {
                return lock.tryLock(60, TimeUnit.SECONDS);
            }
            case TRY_LOCK_WITH_TTL -> {
                return lock.tryLock(Duration.ofSeconds(60), TTL);
            }
        }
        return true;
    }

    boolean hasTtl() {
        return this == LOCK_WITH_TTL || this == TRY_LOCK_WITH_TTL;
    }
}
