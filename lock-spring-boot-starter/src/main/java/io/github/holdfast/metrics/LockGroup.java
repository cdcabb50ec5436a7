package io.github.holdfast.metrics;

/**
 * Says under which group a lock is counted. Each group is a meter of its own, and is kept as long as the process lives: there
 * should be tens of them, not one for each order. In Spring Boot, a bean of this type replaces {@link #byPrefix}.
 */
@FunctionalInterface
public interface LockGroup {

    /** The group of names that have none. */
    String NONE = "ungrouped";

    /**
     * Returns the group of a lock. Called for every event, by any thread: be quick.
     *
     * @param lockName what is locked
     * @return not empty
     */
    String of(String lockName);

    /** The text before the first colon: {@code order:1001} is in {@code order}. Names without one are in {@link #NONE}. */
    static LockGroup byPrefix() {
        return lockName -> {
            int colon = lockName.indexOf(':');
            return colon > 0 ? lockName.substring(0, colon) : NONE;
        };
    }
}
