package io.github.holdfast.sharding;

import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Decides which shard has the lock of a name. All processes must use the same rule at the same time, because a name that is locked on
 * two shards has two holders. To change the rule, see {@link ShardedLocks#movingTo}. Thread-safe.
 */
@FunctionalInterface
public interface Sharding {

    /**
     * Returns the shard of a lock: always the same one for the same name, in all processes. It asks no database.
     *
     * @param lockName the name of the lock
     * @throws IllegalArgumentException if the lock has no shard
     */
    String shardOf(String lockName);

    /**
     * Returns shards that this rule uses. {@link ShardedLocks#of} refuses a rule with a shard that it does not know. By default, none is
     * returned, so that a wrong shard is noticed when it is used.
     */
    default Collection<String> shards() {
        return List.of();
    }

    /**
     * Shards by the beginning of the name. The longest matching prefix counts. Use it to keep locks in the database whose data they
     * protect: transactions on that data are then fenced.
     *
     * @param shardOfPrefix the shard for each prefix. The empty prefix is for all other names; without it, the lock of another name
     *     is refused
     * @throws IllegalArgumentException if the map is empty
     */
    static Sharding byPrefix(Map<String, String> shardOfPrefix) {
        return PrefixSharding.of(shardOfPrefix);
    }

    /**
     * Shards by a hash of the name, evenly. A new shard at the end of the list gets its part of the names from all others, and no other
     * name moves. The hash is documented, and the same on each platform.
     *
     * @param shards the shards; their order matters
     * @throws IllegalArgumentException if the list is empty, or a shard is in it twice
     */
    static Sharding byHash(List<String> shards) {
        return HashSharding.of(shards);
    }
}
