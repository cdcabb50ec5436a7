package io.github.holdfast.service;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockNames;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.service.engine.LockEngine;
import java.time.Duration;
import java.util.function.Supplier;

/** What the calls of operators share: the time limit of a read, the checks of arguments, and the exceptions. Thread-safe. */
final class OperatorCalls {

    static final int MAX_PAGE_SIZE = 1000;

    private static final Duration LIMIT = Duration.ofSeconds(10);

    private final LockEngine engine;

    OperatorCalls(LockEngine engine) {
        this.engine = engine;
    }

    /**
     * Reads in a transaction of its own, for at most 10 seconds.
     *
     * @param problem the message of the exception if the database failed
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    <T> T read(String problem, Supplier<T> query) {
        engine.checkOpen();
        try {
            return engine.untilDecided(LIMIT, () -> engine.store().inTransaction(LIMIT, query));
        } catch (StoreException failed) {
            throw new LockStoreException(problem, failed);
        }
    }

    /**
     * Makes a change, which limits its time itself.
     *
     * @param name of the lock or semaphore
     * @param problem what did not happen to it if the database failed
     * @throws IllegalStateException if the service is closed
     * @throws LockStoreException if the database failed
     */
    <T> T change(String name, String problem, Supplier<T> change) {
        engine.checkOpen();
        try {
            return change.get();
        } catch (StoreException failed) {
            throw new LockStoreException(name, problem, failed);
        }
    }

    /** @throws IllegalArgumentException if the limit is not from 1 to {@link #MAX_PAGE_SIZE} */
    static void checkPageSize(int limit) {
        if (limit < 1 || limit > MAX_PAGE_SIZE) {
            throw new IllegalArgumentException("A page has 1 to " + MAX_PAGE_SIZE + " entries, not " + limit);
        }
    }

    /**
     * Returns the reason without the white space around it.
     *
     * @throws IllegalArgumentException if {@code lock_audit} cannot keep it
     */
    static String checkedReason(String reason) {
        return LockNames.checked("reason", reason.strip(), LockAudit.MAX_REASON_LENGTH);
    }
}
