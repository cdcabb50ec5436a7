package io.github.holdfast.service.engine;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.service.engine.AttemptResult.HandOffUnanswered;
import io.github.holdfast.service.engine.AttemptResult.LimitTooLow;
import io.github.holdfast.service.engine.AttemptResult.NotDue;
import io.github.holdfast.service.engine.AttemptResult.PermitsUsed;
import io.github.holdfast.service.engine.AttemptResult.ReservedByWriter;
import io.github.holdfast.service.engine.AttemptResult.RowLockedByOther;
import io.github.holdfast.service.engine.AttemptResult.SharedByOthers;
import io.github.holdfast.service.engine.AttemptResult.TooLate;
import io.github.holdfast.service.engine.AttemptResult.Unavailable;
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

    /** Whether the lock was not granted although nobody held it: it was not wanted, or is not available yet. */
    public boolean wasFree() {
        return last instanceof NotDue || (last instanceof Unavailable refused && !refused.isHeld());
    }

    LockHandle orElseThrow() {
        return handle.orElseThrow(this::refusal);
    }

    LockNotAcquiredException refusal() {
        if (last instanceof Unavailable refused) {
            return LockInfo.ofHeld(refused.seen())
                    .map(held -> new LockNotAcquiredException(waited, held))
                    .orElseGet(() -> because(
                            refused.timeUntilFree() == null
                                    ? "fair requests came first"
                                    : "it stays unavailable for another " + refused.timeUntilFree()));
        }
        if (last instanceof PermitsUsed refused) {
            return because("%d of its %d permits are in use"
                    .formatted(refused.usage().used(), refused.usage().limit()));
        }
        if (last instanceof SharedByOthers refused) {
            return because("%d holders share it".formatted(refused.holders()));
        }
        if (last instanceof ReservedByWriter) {
            return because("another owner waits for it, so nobody shares it any more");
        }
        if (last instanceof LimitTooLow refused) {
            return because("the request wants %d permits, and the semaphore has %d"
                    .formatted(refused.wanted(), refused.limit()));
        }
        if (last instanceof HandOffUnanswered) {
            return because("the database has not yet answered its holder's release");
        }
        if (last instanceof TooLate tooLate) {
            return because(tooLate.why());
        }
        return because(
                last instanceof RowLockedByOther
                        ? "another transaction has locked its row"
                        : "other requests came first");
    }

    private LockNotAcquiredException because(String why) {
        return new LockNotAcquiredException(name, waited, why);
    }
}
