package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.service.LockService;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationContext;

/** What the annotations of one type require before a method runs: locks or permits. Immutable. */
interface Requirement {

    /** Returns what the names are names of, for messages. */
    String what();

    /** Returns whether it can be held after the method has returned, by no particular thread. */
    boolean canOutlastItsThread();

    /**
     * Evaluates the names for a call.
     *
     * @throws IllegalArgumentException if a name is not valid
     */
    Acquisition of(EvaluationContext call);

    /**
     * What one call is to acquire.
     *
     * @param names the names of all locks or semaphores, for messages
     */
    record Acquisition(Collection<String> names, Acquirer acquirer, Contention contention) {}

    /** Acquires all that a call needs, or nothing. */
    interface Acquirer {

        /**
         * Acquires it.
         *
         * @return the handles, in the order of acquisition
         * @throws LockNotAcquiredException if others held it until the wait time ended
         * @throws InterruptedException if the thread is interrupted before it has all; none is held then
         */
        List<LockHandle> from(LockService locks) throws InterruptedException;
    }

    /** Returns the answer of a lock service, which is null only if a test has put a mock in its place. */
    static <T> T answered(@Nullable T answer) {
        return Objects.requireNonNull(answer, "The LockService is a mock that acquires nothing");
    }
}
