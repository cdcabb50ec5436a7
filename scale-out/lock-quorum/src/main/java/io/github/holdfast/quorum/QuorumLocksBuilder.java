package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/** Builds {@link QuorumLocks}. Not thread-safe. */
public final class QuorumLocksBuilder {

    private final List<LockService> members;
    private Duration memberTimeout = Duration.ofSeconds(1);
    private HealingPauses healingPauses = HealingPauses.DEFAULT;

    QuorumLocksBuilder(List<LockService> members) {
        this.members = List.copyOf(members);
        Set<LockService> different = Collections.newSetFromMap(new IdentityHashMap<>());
        different.addAll(members);
        if (members.size() < Quorum.FEWEST || members.size() % 2 == 0 || different.size() < members.size()) {
            throw new IllegalArgumentException("A quorum needs an odd number of different services, at least "
                    + Quorum.FEWEST + ", not " + members.size() + " of which " + different.size() + " are different");
        }
    }

    /**
     * Sets how long to wait for the answer of a member. A member that has not answered by then counts as away; if it grants the lock
     * later, it joins the hold, or is released. The default is 1 second. An attempt of an acquisition that waits ends with the wait time,
     * but awaits answers for 100 milliseconds at least.
     *
     * @param memberTimeout 10 milliseconds to {@link LockRequest#LONGEST_DURATION}
     * @return this builder
     * @throws IllegalArgumentException if it is out of that range
     */
    public QuorumLocksBuilder memberTimeout(Duration memberTimeout) {
        this.memberTimeout = LockRequest.checked("timeout of a member", memberTimeout, Duration.ofMillis(10));
        return this;
    }

    QuorumLocksBuilder healingPauses(HealingPauses healingPauses) {
        this.healingPauses = healingPauses;
        return this;
    }

    /**
     * Returns the locks, and starts their threads. It locks the name {@code holdfast:quorum} once in each member. This shows whether two
     * members have the same database. It is a best effort, for members that answer: it ends one second after the timeout of a member. If
     * other processes start at the same time, it may see nothing.
     *
     * @throws IllegalArgumentException if two members are seen to have the same database
     */
    public QuorumLocks build() {
        return new QuorumLocks(members, memberTimeout, healingPauses);
    }
}
