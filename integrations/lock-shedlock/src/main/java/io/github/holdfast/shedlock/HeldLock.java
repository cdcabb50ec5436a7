package io.github.holdfast.shedlock;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * A held lock for ShedLock. After an extension, another object of this class has its handle. Not thread-safe, like ShedLock's own
 * locks: several threads may use it one after the other.
 */
final class HeldLock extends AbstractSimpleLock {

    private final LockHandle handle;
    private final KeepAlive keepAlive;
    private final Durations durations;
    private final MinimumHold minimumHold;

    HeldLock(
            LockConfiguration configuration,
            LockHandle handle,
            KeepAlive keepAlive,
            Durations durations,
            MinimumHold minimumHold) {
        super(configuration);
        this.handle = handle;
        this.keepAlive = keepAlive;
        this.durations = durations;
        this.minimumHold = minimumHold;
    }

    /** Never throws because of a loss or a failure of the database: the exception would hide that of the task. */
    @Override
    protected void doUnlock() {
        Duration toBeHeld = minimumHold.toBeHeld();
        if (toBeHeld.isZero()) {
            release();
        } else {
            // Not on this thread, which has other work to do. If the process dies before, the lease ends later than
            // this.
            handle.detach();
            CompletableFuture.delayedExecutor(toBeHeld.toNanos(), TimeUnit.NANOSECONDS)
                    .execute(this::release);
        }
    }

    private void release() {
        ReleaseOutcome unused = handle.release();
    }

    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration extension) {
        try {
            keepAlive.extend(handle, durations, extension);
        } catch (LockLostException lost) {
            // ShedLock allows no unlock any more. Without a release, later transactions of this thread would fail.
            release();
            return Optional.empty();
        } catch (LockStoreException failed) {
            throw new LockException("Lock '" + extension.getName() + "' was not extended", failed);
        }
        return Optional.of(new HeldLock(extension, handle, keepAlive, durations, minimumHold.extended(extension)));
    }
}
