package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Asks the members for a hold: all of them at first, and later those that are missing. Thread-safe. */
final class MajorityAttempt {

    private final Quorum quorum;
    private final QuorumHold hold;

    /** The members that have not answered yet. */
    private final Set<Member> asked = new HashSet<>();

    private final List<Throwable> failures = new ArrayList<>();
    private int refused;
    private Duration pause;
    private long nextHealing;

    MajorityAttempt(Quorum quorum, QuorumHold hold) {
        this.quorum = quorum;
        this.hold = hold;
        this.pause = quorum.healingPauses().first();
        this.nextHealing = System.nanoTime() + pause.toNanos();
    }

    /** Asks all members. If that fails, what has been granted is given back. */
    void begin() {
        try {
            askAll(quorum.members(), hold.request());
        } catch (RuntimeException | Error thrown) {
            hold.giveBack();
            throw thrown;
        }
    }

    private void askAll(List<Member> members, LockRequest request) {
        synchronized (this) {
            asked.addAll(members);
        }
        members.forEach(member -> ask(member, request));
    }

    private void ask(Member member, LockRequest request) {
        CompletableFuture<Boolean> unused = member.ask(hold.acquisition().threadName(), locks -> {
                    // The handle joins on this thread, so that no grant is left behind, however late it comes.
                    Optional<LockHandle> handle = locks.tryAcquire(request);
                    handle.ifPresent(granted -> hold.join(member, granted.detach()));
                    return handle.isPresent();
                })
                .whenComplete((isGranted, thrown) -> answered(member, isGranted, thrown));
    }

    private void answered(Member member, @Nullable Boolean isGranted, @Nullable Throwable thrown) {
        boolean isHopeless;
        synchronized (this) {
            asked.remove(member);
            if (thrown != null) {
                failures.add(thrown);
            } else if (Boolean.FALSE.equals(isGranted)) {
                refused++;
            }
            // Failures do not end the attempt before all have answered: whether the lock is held or a majority is away
            // can only be said then.
            isHopeless = refused > quorum.members().size() - quorum.majority() || asked.isEmpty();
        }
        if (isHopeless) {
            hold.decision().complete(false);
        }
    }

    /** Asks the members that are missing, after a pause that grows. */
    void heal() {
        List<Member> missing;
        Duration left = hold.remaining();
        synchronized (this) {
            if (System.nanoTime() - nextHealing < 0 || left.isZero()) {
                return;
            }
            missing = quorum.members().stream()
                    .filter(member -> !asked.contains(member) && hold.isMissing(member))
                    .toList();
            failures.clear();
            if (missing.isEmpty()) {
                pause = quorum.healingPauses().first();
                return;
            }
            nextHealing = System.nanoTime() + pause.toNanos();
            pause = quorum.healingPauses().after(pause);
        }
        LockRequest request = hold.request().lease().isEmpty()
                ? hold.request()
                : hold.request()
                        .lease(left.compareTo(LockRequest.SHORTEST_LEASE) < 0 ? LockRequest.SHORTEST_LEASE : left);
        askAll(missing, request);
    }

    /** Returns whether a majority can never grant, such as when their services are closed, or their tables are missing. */
    synchronized boolean isFutile() {
        return failures.stream().filter(MemberResponses::isPermanent).count()
                > quorum.members().size() - quorum.majority();
    }

    /** Returns why the lock was not acquired. */
    synchronized RuntimeException failure(Duration waited) {
        int members = quorum.members().size();
        int unanswered = asked.size() + failures.size();
        return members - unanswered >= quorum.majority()
                ? new LockNotAcquiredException(
                        hold.name(), waited, "%d of %d members refused it".formatted(refused, members))
                : MemberResponses.failure(
                        hold.name(),
                        "was not acquired, because only %d of %d members answered"
                                .formatted(members - unanswered, members),
                        failures);
    }
}
