package io.github.holdfast.sharding;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;

/**
 * Shards by the beginning of the name.
 *
 * @param shardOfPrefix prefixes and their shards, the longest prefix first
 */
record PrefixSharding(List<Entry<String, String>> shardOfPrefix) implements Sharding {

    static PrefixSharding of(Map<String, String> shardOfPrefix) {
        if (shardOfPrefix.isEmpty()) {
            throw new IllegalArgumentException("There is no prefix");
        }
        Comparator<Entry<String, String>> byLength =
                Comparator.comparingInt(entry -> entry.getKey().length());
        return new PrefixSharding(Map.copyOf(shardOfPrefix).entrySet().stream()
                .sorted(byLength.reversed())
                .toList());
    }

    @Override
    public String shardOf(String lockName) {
        return shardOfPrefix.stream()
                .filter(entry -> lockName.startsWith(entry.getKey()))
                .findFirst()
                .map(Entry::getValue)
                .orElseThrow(() -> new IllegalArgumentException(
                        "Lock '" + lockName + "' has no shard: no prefix of its name has one"));
    }

    @Override
    public Collection<String> shards() {
        return shardOfPrefix.stream().map(Entry::getValue).toList();
    }
}
