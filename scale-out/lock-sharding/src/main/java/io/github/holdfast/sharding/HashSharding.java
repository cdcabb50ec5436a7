package io.github.holdfast.sharding;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashSet;
import java.util.List;

/**
 * Shards by the jump consistent hash of J. Lamping and E. Veach ("A Fast, Minimal Memory, Consistent Hash Algorithm", 2014). Its key is
 * the number in the first 8 bytes, the most significant one first, of the SHA-256 of the name in UTF-8.
 *
 * @param shards the shards, in their order
 */
record HashSharding(List<String> shards) implements Sharding {

    private static final long MULTIPLIER = 2862933555777941757L;
    private static final double TWO_TO_31 = 1L << 31;

    static HashSharding of(List<String> shards) {
        if (shards.isEmpty()) {
            throw new IllegalArgumentException("There is no shard");
        }
        if (new HashSet<>(shards).size() < shards.size()) {
            throw new IllegalArgumentException("A shard is named twice: " + shards);
        }
        return new HashSharding(List.copyOf(shards));
    }

    @Override
    public String shardOf(String lockName) {
        return shards.get(bucket(key(lockName), shards.size()));
    }

    static long key(String lockName) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(lockName.getBytes(StandardCharsets.UTF_8));
            return ByteBuffer.wrap(digest).getLong();
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("Each Java platform has SHA-256", impossible);
        }
    }

    /**
     * Follows the key through growing numbers of buckets, from jump to jump. At each number {@code n}, a key moves to the new bucket with
     * the probability {@code 1/n}, and otherwise stays. The pseudorandom numbers of the key alone decide.
     */
    static int bucket(long key, int buckets) {
        long random = key;
        long bucket = 0;
        long next = 0;
        while (next < buckets) {
            bucket = next;
            random = random * MULTIPLIER + 1;
            next = (long) ((bucket + 1) * (TWO_TO_31 / ((random >>> 33) + 1)));
        }
        return (int) bucket;
    }
}
