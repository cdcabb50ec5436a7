package io.github.holdfast.sharding;

import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;

/**
 * The properties of sharding. Shards are beans of type {@code LockService}, by their names. All nodes of an application need the same
 * properties.
 *
 * @param prefixes for each shard, the beginnings of the names of its locks
 * @param others the shard for names that begin with none of the prefixes; without it, they are refused
 * @param hash the shards for a hash of the names, in an order that never changes; instead of prefixes
 * @param next the rule after a change, for the time of the change
 */
@ConfigurationProperties("holdfast.sharding")
record ShardingProperties(
        @Nullable Map<String, List<String>> prefixes,
        @Nullable String others,
        @Nullable List<String> hash,
        @Nullable Next next) {

    /**
     * The rule after a change.
     *
     * @param prefixes like those of the current rule
     * @param others like that of the current rule
     * @param hash as that of the present rule
     * @param tokensFrom needed: from when on tokens are those of the new shard of a name. The time is after the last node without this
     *     property has stopped, and before the first node with only the new rule starts
     */
    record Next(
            @Nullable Map<String, List<String>> prefixes,
            @Nullable String others,
            @Nullable List<String> hash,
            @Nullable Instant tokensFrom) {}
}
