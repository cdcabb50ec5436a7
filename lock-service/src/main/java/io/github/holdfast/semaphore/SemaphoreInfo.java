package io.github.holdfast.semaphore;

import io.github.holdfast.repository.rows.HolderRows;

/**
 * A semaphore, read from the database in one statement.
 *
 * @param name the name of the semaphore
 * @param limit how many permits it has; 0 or more
 * @param used how many permits are in use. Those of dead holders count until a service has noticed. Those that were released by force
 *     count until their holder must have noticed. It can be more than the limit after the limit was lowered
 */
public record SemaphoreInfo(String name, int limit, long used) {

    /** Returns the semaphore that was read. */
    public static SemaphoreInfo of(HolderRows.Semaphore seen) {
        return new SemaphoreInfo(seen.name(), seen.limit(), seen.used());
    }

    /** Returns how many permits are left; 0 or more. */
    public long available() {
        return Math.max(0, limit - used);
    }
}
