package io.github.holdfast.service.engine.acquire;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.service.engine.acquire.AttemptResult.NotDue;
import io.github.holdfast.service.engine.acquire.AttemptResult.Unavailable;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The result of an acquisition.
 *
 * @param name the lock's name
 * @param handle the lock's handle; empty if the lock was not granted
 * @param last the result of the last attempt; null if there was none
 * @param waited how long the acquisition took
 */
public record AcquireResult(
        String name, Optional<LockHandle> handle, @Nullable AttemptResult last, Duration waited) {

    /** Whether the lock was not granted although no owner held it: it was not wanted, or is not available yet. */
    public boolean wasFree() {
        return last instanceof NotDue || (last instanceof Unavailable refused && !refused.isHeld());
    }

    public LockHandle orElseThrow() {
        return handle.orElseThrow(this::refusal);
    }

    public LockNotAcquiredException refusal() {
        Optional<LockInfo> holder = last instanceof Unavailable refused ? refused.holder() : Optional.empty();
        return holder.map(held -> new LockNotAcquiredException(waited, held))
                .orElseGet(() -> new LockNotAcquiredException(
                        name, waited, last == null ? "other requests came first" : last.reason()));
    }
}
