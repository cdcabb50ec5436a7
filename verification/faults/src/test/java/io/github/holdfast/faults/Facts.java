package io.github.holdfast.faults;

import org.jspecify.annotations.Nullable;

/**
 * What is known of a lock when an operation begins or ends; {@link #UNSET} or null is what is not known.
 *
 * @param name the lock
 * @param version of its row
 * @param token of its grant, or that a commit was guarded by
 * @param holds how often the owner holds it
 * @param databaseMicros the database's clock
 * @param validUntil until when the holder believes to hold it, by the monotonic clock of the machine
 * @param value what was counted
 */
record Facts(
        String name,
        @Nullable String owner,
        @Nullable String node,
        long version,
        long token,
        long holds,
        long databaseMicros,
        long validUntil,
        long value) {

    static final long UNSET = -1;

    /** Instead of a name: what concerns all of them. */
    static final String ALL = "*";

    static Facts of(String name) {
        return new Facts(name, null, null, UNSET, UNSET, UNSET, UNSET, UNSET, UNSET);
    }

    Facts owner(@Nullable String other) {
        return new Facts(name, other, node, version, token, holds, databaseMicros, validUntil, value);
    }

    Facts node(@Nullable String other) {
        return new Facts(name, owner, other, version, token, holds, databaseMicros, validUntil, value);
    }

    Facts grant(long ofVersion, long ofToken) {
        return new Facts(name, owner, node, ofVersion, ofToken, holds, databaseMicros, validUntil, value);
    }

    Facts token(long other) {
        return new Facts(name, owner, node, version, other, holds, databaseMicros, validUntil, value);
    }

    Facts holds(long other) {
        return new Facts(name, owner, node, version, token, other, databaseMicros, validUntil, value);
    }

    Facts databaseMicros(long other) {
        return new Facts(name, owner, node, version, token, holds, other, validUntil, value);
    }

    Facts validUntil(long other) {
        return new Facts(name, owner, node, version, token, holds, databaseMicros, other, value);
    }

    Facts value(long other) {
        return new Facts(name, owner, node, version, token, holds, databaseMicros, validUntil, other);
    }
}
