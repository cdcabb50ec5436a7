package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.repository.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** Collects the answers of members, until there are enough or all have answered. Thread-safe. */
final class MemberResponses<T> {

    private final int enough;
    private final int asked;
    private final CompletableFuture<Boolean> end = new CompletableFuture<>();
    private final List<T> given = new ArrayList<>();
    private final List<Throwable> failures = new ArrayList<>();

    private MemberResponses(int enough, int asked) {
        this.enough = enough;
        this.asked = asked;
    }

    /** Collects the results of these futures; that many are enough. */
    static <T> MemberResponses<T> of(List<CompletableFuture<T>> futures, int enough) {
        MemberResponses<T> answers = new MemberResponses<>(enough, futures.size());
        for (CompletableFuture<T> future : futures) {
            CompletableFuture<T> unused = future.whenComplete(answers::add);
        }
        if (futures.isEmpty()) {
            answers.end.complete(true);
        }
        return answers;
    }

    private synchronized void add(@Nullable T answer, @Nullable Throwable thrown) {
        if (answer != null) {
            given.add(answer);
        } else if (thrown != null) {
            failures.add(thrown);
        }
        if (given.size() >= enough || given.size() + failures.size() == asked) {
            end.complete(true);
        }
    }

    /** Waits for enough answers, for at most this long. An interrupt does not end the wait. */
    MemberResponses<T> await(Duration atMost) {
        uninterruptibly(end, atMost);
        return this;
    }

    /** Returns the answers that have come, without failures. */
    synchronized List<T> given() {
        return List.copyOf(given);
    }

    /** Returns why members have failed; members that have not answered are missing. */
    synchronized List<Throwable> failures() {
        return List.copyOf(failures);
    }

    /** Waits for a future, and keeps an interrupt for later. */
    static void uninterruptibly(CompletableFuture<?> future, Duration atMost) {
        long deadline = System.nanoTime() + atMost.toNanos();
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    future.get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                    return;
                } catch (InterruptedException later) {
                    isInterrupted = true;
                } catch (ExecutionException | TimeoutException ended) {
                    return;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Returns whether the same question would fail again. */
    static boolean isPermanent(Throwable failure) {
        return isMisuse(failure)
                || (failure.getCause() instanceof StoreException ofStore
                        && !ofStore.failure().isTransient());
    }

    private static boolean isMisuse(Throwable failure) {
        return failure instanceof IllegalStateException || failure instanceof IllegalArgumentException;
    }

    /**
     * Returns the exception for too few answers: the misuse that a member has reported, or a failure of its database, if possible one that
     * lasts. If no member has failed, they have not answered.
     *
     * @param what the message after the lock's name
     */
    static RuntimeException failure(String lockName, String what, List<Throwable> failures) {
        for (Throwable failure : failures) {
            if (isMisuse(failure)) {
                return (RuntimeException) failure;
            }
        }
        StoreException cause = failures.stream()
                .map(Throwable::getCause)
                .filter(StoreException.class::isInstance)
                .map(StoreException.class::cast)
                .min(Comparator.comparing(ofStore -> ofStore.failure().isTransient()))
                .orElseGet(StoreException::unanswered);
        LockStoreException thrown = new LockStoreException(lockName, what, cause);
        failures.forEach(thrown::addSuppressed);
        return thrown;
    }
}
