package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.Locks;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/**
 * Finds two members that have the same database. One lock is acquired at each member. Where two members have one database, the second
 * finds the lock held by the owner of the first. This is a best effort: a member that does not answer is not checked, nor one at which
 * another process checks at the same time.
 */
final class MemberCheck {

    static final String NAME = "holdfast:quorum";

    /** For how long a member waits for the lock, which another process may be checking with. */
    private static final Duration WAIT = Duration.ofSeconds(1);

    private static final Duration MARGIN = Duration.ofSeconds(10);

    /** What a member has answered: its grant, or the holder that it has found. */
    private record Found(Optional<LockHandle> handle, Optional<String> holder) {}

    private MemberCheck() {}

    static void check(Quorum quorum) {
        String asker = Acquirer.current().threadName();
        Duration limit = quorum.timeout().plus(WAIT);
        // The first member must still have its lock when the last one answers.
        LockRequest request = LockRequest.of(NAME)
                .notReentrant()
                .withoutFence()
                .lease(atMostLongest(limit.plus(MARGIN)))
                .waitAtMost(WAIT);
        List<CompletableFuture<Found>> asked = quorum.members().stream()
                .map(member -> member.ask(asker, locks -> lockOrFind(locks, request)))
                .toList();
        List<Found> found = MemberResponses.of(asked, asked.size()).await(limit).given();
        Set<String> owners = found.stream()
                .flatMap(one -> one.handle().stream())
                .map(LockHandle::owner)
                .collect(Collectors.toSet());
        // A member that answers later releases at once what it was granted.
        for (CompletableFuture<Found> answer : asked) {
            CompletableFuture<Void> unused =
                    answer.thenAccept(late -> late.handle().ifPresent(handle -> quorum.later(handle::release)));
        }
        if (found.stream().flatMap(one -> one.holder().stream()).anyMatch(owners::contains)) {
            throw new IllegalArgumentException("Two members of the quorum have the same database");
        }
    }

    private static Duration atMostLongest(Duration lease) {
        return lease.compareTo(LockRequest.LONGEST_DURATION) < 0 ? lease : LockRequest.LONGEST_DURATION;
    }

    private static Found lockOrFind(Locks locks, LockRequest request) {
        try {
            return new Found(Optional.of(locks.acquire(request).detach()), Optional.empty());
        } catch (LockNotAcquiredException held) {
            return new Found(Optional.empty(), locks.find(NAME).map(LockInfo::owner));
        } catch (InterruptedException impossible) {
            throw new IllegalStateException("No code interrupts the threads of the quorum", impossible);
        }
    }
}
