package io.github.holdfast.service;

import io.github.holdfast.service.Attempt.Abandoned;
import io.github.holdfast.service.Attempt.InUse;
import io.github.holdfast.service.Attempt.Refused;
import io.github.holdfast.service.Attempt.TooLate;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What became of an acquisition.
 *
 * @param name what was to be locked
 * @param handle the lock; empty if somebody else has it
 * @param last how the last attempt came out; null if there was none
 * @param waited how long it took
 */
record Acquired(
        String name, Optional<LockHandle> handle, @Nullable Attempt last, Duration waited) {

    LockHandle orElseThrow() {
        return handle.orElseThrow(this::refusal);
    }

    LockNotAcquiredException refusal() {
        if (last instanceof Refused refused) {
            return LockInfo.ofHeld(refused.seen())
                    .map(held -> new LockNotAcquiredException(waited, held))
                    .orElseGet(() -> because("nobody may hold it for another " + refused.timeUntilFree()));
        }
        if (last instanceof Abandoned) {
            return because("the thread that had it has had no answer yet to the write that gives it back");
        }
        if (last instanceof TooLate tooLate) {
            return because(tooLate.why());
        }
        return because(last instanceof InUse ? "another transaction has its row locked" : "others came before");
    }

    private LockNotAcquiredException because(String why) {
        return new LockNotAcquiredException(name, waited, why);
    }
}
