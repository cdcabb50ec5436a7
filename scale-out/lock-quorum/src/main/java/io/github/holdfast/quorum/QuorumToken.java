package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * The fencing token of a quorum: the tokens of the members that granted the lock. It has at least a majority of them. Two majorities
 * share a member, and each later grant has a greater token there.
 *
 * <p>A resource keeps what it has seen, and refuses an older token:
 *
 * <pre>{@code
 * if (token.isOlderThan(seen)) {
 *     throw new IllegalStateException("A later holder has written");
 * }
 * seen = token.mergedWith(seen);
 * }</pre>
 *
 * <p>This refuses a previous holder whatever clocks do. It has one condition: the member that both grants share has not lost
 * committed data. Immutable.
 */
public final class QuorumToken {

    private static final String SEPARATOR = ",";
    private static final String ABSENT = "-";
    private static final Pattern POSITIVE = Pattern.compile("[1-9][0-9]*");

    /** By member; 0 where the token has none. Tokens of members are greater than 0. */
    private final long[] ofMembers;

    private QuorumToken(long[] ofMembers) {
        this.ofMembers = ofMembers;
    }

    static QuorumToken of(long[] ofMembers) {
        return new QuorumToken(ofMembers.clone());
    }

    /**
     * Returns the token of a lock that {@link QuorumLocks} acquired. It stays the same for the whole hold, and for nested
     * acquisitions.
     *
     * @throws IllegalArgumentException if another {@code Locks} acquired the lock
     */
    public static QuorumToken of(LockHandle handle) {
        if (handle instanceof QuorumHandle ofQuorum) {
            return ofQuorum.token();
        }
        throw new IllegalArgumentException("The handle of lock '" + handle.name() + "' is not one of QuorumLocks");
    }

    /**
     * Reads what {@link #toString} has written: an odd number of parts, at least 3, of which more than half are positive numbers.
     *
     * @throws IllegalArgumentException if the text is something else
     */
    public static QuorumToken parse(String text) {
        String[] parts = text.split(SEPARATOR, -1);
        if (parts.length < Quorum.FEWEST || parts.length % 2 == 0) {
            throw notOne(text, "it has " + parts.length + " parts, not an odd number of at least " + Quorum.FEWEST);
        }
        long[] ofMembers =
                Arrays.stream(parts).mapToLong(part -> number(part, text)).toArray();
        long numbers = LongStream.of(ofMembers).filter(number -> number > 0).count();
        if (numbers <= parts.length / 2) {
            throw notOne(text, "only " + numbers + " of " + parts.length + " parts are numbers, which is no majority");
        }
        return new QuorumToken(ofMembers);
    }

    private static long number(String part, String text) {
        if (part.equals(ABSENT)) {
            return 0;
        }
        try {
            // Long.parseLong also reads a sign and zeros, which toString never writes.
            if (POSITIVE.matcher(part).matches()) {
                return Long.parseLong(part);
            }
        } catch (NumberFormatException tooGreat) {
            throw notOne(text, "'" + part + "' is too great");
        }
        throw notOne(text, "'" + part + "' is neither a positive number nor " + ABSENT);
    }

    private static IllegalArgumentException notOne(String text, String why) {
        return new IllegalArgumentException("'" + text + "' is not the token of a quorum: " + why);
    }

    /**
     * Returns whether this token is smaller at a member that both contain. A resource that has seen the other token must then refuse
     * this one.
     *
     * @param seen a token of the same lock and the same list of members; null if the resource has seen none
     * @throws IllegalArgumentException if it has another number of members
     */
    public boolean isOlderThan(@Nullable QuorumToken seen) {
        if (seen == null) {
            return false;
        }
        checkMembersOf(seen);
        return IntStream.range(0, ofMembers.length)
                .anyMatch(member -> ofMembers[member] != 0 && ofMembers[member] < seen.ofMembers[member]);
    }

    /**
     * Returns the greatest number of each member. A resource remembers this, not the last token alone.
     *
     * @param seen a token of the same lock and the same list of members; null if there is none
     * @throws IllegalArgumentException if it has another number of members
     */
    public QuorumToken mergedWith(@Nullable QuorumToken seen) {
        if (seen == null) {
            return this;
        }
        checkMembersOf(seen);
        return new QuorumToken(IntStream.range(0, ofMembers.length)
                .mapToLong(member -> Math.max(ofMembers[member], seen.ofMembers[member]))
                .toArray());
    }

    private void checkMembersOf(QuorumToken other) {
        if (other.ofMembers.length != ofMembers.length) {
            throw new IllegalArgumentException("Tokens of different quorums: " + this + " and " + other);
        }
    }

    /** Returns the token of each member, in the order of the list of members; empty where the token has none. */
    public List<OptionalLong> ofMembers() {
        return LongStream.of(ofMembers)
                .mapToObj(token -> token == 0 ? OptionalLong.empty() : OptionalLong.of(token))
                .toList();
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof QuorumToken token && Arrays.equals(ofMembers, token.ofMembers);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(ofMembers);
    }

    /** Returns the numbers of the members, with {@code -} where there is none, such as {@code 17,-,23}. */
    @Override
    public String toString() {
        return LongStream.of(ofMembers)
                .mapToObj(token -> token == 0 ? ABSENT : Long.toString(token))
                .collect(Collectors.joining(SEPARATOR));
    }
}
