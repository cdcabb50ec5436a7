package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.Locks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The members, and how they are asked.
 *
 * @param members in the order of the user's list, on which tokens depend
 * @param timeout for how long an answer is awaited
 * @param healingPauses when missing members are asked again
 * @param threads the threads that wait for answers
 */
record Quorum(List<Member> members, Duration timeout, HealingPauses healingPauses, ExecutorService threads) {

    /** The least number of members. */
    static final int FEWEST = 3;

    private static final Duration SHORTEST_ATTEMPT = Duration.ofMillis(100);

    /** How many members are more than half of them. */
    int majority() {
        return members.size() / 2 + 1;
    }

    /** Returns how long an attempt awaits the answers, if so much of the wait time is left. */
    Duration timeout(Duration left) {
        Duration atLeast = left.compareTo(SHORTEST_ATTEMPT) < 0 ? SHORTEST_ATTEMPT : left;
        return atLeast.compareTo(timeout) < 0 ? atLeast : timeout;
    }

    /** Asks all members, and waits for their answers. */
    <T> MemberResponses<T> askAll(String asker, Function<Locks, T> question) {
        List<CompletableFuture<T>> answers =
                members.stream().map(member -> member.ask(asker, question)).toList();
        return MemberResponses.of(answers, members.size()).await(timeout);
    }

    /** Renews each handle, and waits until a majority has done it. */
    <T> MemberResponses<T> renewEach(Map<Integer, LockHandle> handles, String asker, Function<LockHandle, T> work) {
        List<CompletableFuture<T>> answers = handles.entrySet().stream()
                .map(entry -> members.get(entry.getKey()).askToRenew(asker, locks -> work.apply(entry.getValue())))
                .toList();
        return MemberResponses.of(answers, majority()).await(timeout);
    }

    /** Does something with each handle in any case, and does not wait. */
    <T> List<CompletableFuture<T>> tellEach(
            Map<Integer, LockHandle> handles, String asker, Function<LockHandle, T> work) {
        List<CompletableFuture<T>> answers = new ArrayList<>();
        handles.forEach((member, handle) -> answers.add(members.get(member).tell(asker, locks -> work.apply(handle))));
        return answers;
    }

    /** Accepts no more work for the threads, and waits for what they do, for at most the timeout. An interrupt ends the wait. */
    void endThreads() {
        threads.shutdown();
        try {
            boolean unused = threads.awaitTermination(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Runs this on another thread, or on this one if there is no other. */
    void later(Runnable work) {
        try {
            threads.execute(work);
        } catch (RejectedExecutionException | OutOfMemoryError noThread) {
            work.run();
        }
    }
}
