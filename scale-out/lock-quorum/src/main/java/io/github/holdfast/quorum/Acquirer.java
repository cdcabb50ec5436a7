package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockInfo;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The acquirer: one acquisition of a quorum, at all members. The members show the name of the thread that asks them, so that name shows
 * which of their holders belong together.
 *
 * @param owner an id that no other acquisition has
 * @param threadName the name of the threads that ask
 */
record Acquirer(String owner, String threadName) {

    private static final Pattern OWNER = Pattern.compile("/(quorum:[0-9a-f-]{36}) of ");

    static Acquirer current() {
        String owner = "quorum:" + UUID.randomUUID();
        return new Acquirer(owner, owner + " of " + Thread.currentThread().getName());
    }

    /** Returns the owner of the quorum's acquisition to which a holder at a member belongs; empty if it belongs to none. */
    static Optional<String> ownerOf(LockInfo atMember) {
        return Optional.ofNullable(atMember.holder())
                .map(OWNER::matcher)
                .filter(Matcher::find)
                .map(found -> found.group(1));
    }
}
