package io.github.holdfast.quorum;

import io.github.holdfast.lock.Locks;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

/** One database of the quorum. It is asked on a thread of its own, because it may not answer. Thread-safe. */
final class Member {

    /** With so many overdue answers, the member is not asked again. Each of them has a thread. */
    private static final int MOST_OVERDUE = 4;

    private final int index;
    private final Locks locks;
    private final ExecutorService threads;
    private final long timeout;
    private final Set<Question> unanswered = ConcurrentHashMap.newKeySet();

    /** Apart from the others: a member that has granted a lock is to renew it, though it grants no more of them in time. */
    private final Set<Question> unansweredRenewals = ConcurrentHashMap.newKeySet();

    private record Question(Object identity, long deadline) {}

    Member(int index, Locks locks, ExecutorService threads, Duration timeout) {
        this.index = index;
        this.locks = locks;
        this.threads = threads;
        this.timeout = timeout.toNanos();
    }

    /** Returns the place in the list of members. */
    int index() {
        return index;
    }

    /**
     * Asks a question on another thread.
     *
     * @param asker the name of that thread meanwhile
     * @return the answer. It fails with a {@link TimeoutException} if the member is not asked, because too many answers are overdue, and
     *     with an {@link Error} if there is no thread
     */
    <T> CompletableFuture<T> ask(String asker, Function<Locks, T> question) {
        return ask(asker, question, unanswered);
    }

    /** Like {@link #ask}, to renew what the member has granted. Only overdue renewals keep the member from being asked. */
    <T> CompletableFuture<T> askToRenew(String asker, Function<Locks, T> question) {
        return ask(asker, question, unansweredRenewals);
    }

    private <T> CompletableFuture<T> ask(String asker, Function<Locks, T> question, Set<Question> ofItsKind) {
        if (areTooManyOverdue(ofItsKind)) {
            return CompletableFuture.failedFuture(new TimeoutException("Too many answers are overdue"));
        }
        CompletableFuture<T> answer = new CompletableFuture<>();
        try {
            threads.execute(answering(answer, asker, question, ofItsKind));
        } catch (RejectedExecutionException closed) {
            answer.completeExceptionally(new IllegalStateException("The QuorumLocks are closed", closed));
        } catch (Error noThread) {
            answer.completeExceptionally(noThread);
        }
        return answer;
    }

    /** Like {@link #ask}, for what must be done in any case. It is done on this thread if there is no other. */
    <T> CompletableFuture<T> tell(String asker, Function<Locks, T> order) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        Runnable work = answering(answer, asker, order, unanswered);
        try {
            threads.execute(work);
        } catch (RejectedExecutionException | OutOfMemoryError noThread) {
            work.run();
        }
        return answer;
    }

    private <T> Runnable answering(
            CompletableFuture<T> answer, String asker, Function<Locks, T> question, Set<Question> ofItsKind) {
        Question asked = new Question(new Object(), System.nanoTime() + timeout);
        return () -> {
            ofItsKind.add(asked);
            try {
                answer.complete(named(asker, question));
            } catch (RuntimeException | Error thrown) {
                answer.completeExceptionally(thrown);
            } finally {
                ofItsKind.remove(asked);
            }
        };
    }

    private <T> T named(String asker, Function<Locks, T> question) {
        Thread thread = Thread.currentThread();
        String before = thread.getName();
        thread.setName(asker);
        try {
            return question.apply(locks);
        } finally {
            thread.setName(before);
        }
    }

    private static boolean areTooManyOverdue(Set<Question> unanswered) {
        long now = System.nanoTime();
        return unanswered.stream()
                        .filter(question -> now - question.deadline() > 0)
                        .limit(MOST_OVERDUE)
                        .count()
                == MOST_OVERDUE;
    }
}
