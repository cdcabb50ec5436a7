package io.github.holdfast.metrics;

/**
 * Maps a lock's name to a group for its meters. Each group has its own meters, which live as long as the process. Use tens of
 * groups at most, not one for each order. In Spring Boot, a bean of this type replaces {@link #byPrefix}.
 */
@FunctionalInterface
public interface LockGroup {

    /** The group for names that belong to no other group. */
    String NONE = "ungrouped";

    /**
     * Returns the group of a lock. Called for every event, by any thread, so implement it without delay.
     *
     * @param lockName the name of the lock
     * @return the group, not empty
     */
    String of(String lockName);

    /**
     * Returns a mapping to the text before the first colon: {@code order:1001} belongs to {@code order}. Names without a colon
     * belong to {@link #NONE}.
     */
    static LockGroup byPrefix() {
        return lockName -> {
            int colon = lockName.indexOf(':');
            return colon > 0 ? lockName.substring(0, colon) : NONE;
        };
    }
}
