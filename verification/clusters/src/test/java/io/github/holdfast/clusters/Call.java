package io.github.holdfast.clusters;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A call on a thread of its own, and what came of it.
 *
 * @param <T> what it returns
 */
final class Call<T> {

    /**
     * How a call ended.
     *
     * @param value what it returned; null if it threw
     * @param failure what it threw, or null
     * @param took how long it took
     */
    record Outcome<T>(@Nullable T value, @Nullable Exception failure, Duration took) {}

    private final CompletableFuture<Outcome<T>> outcome = new CompletableFuture<>();
    private final String what;

    private Call(String what) {
        this.what = what;
    }

    static <T> Call<T> start(String what, Callable<T> task) {
        Call<T> call = new Call<>(what);
        Thread thread = new Thread(() -> call.run(task), what);
        thread.setDaemon(true);
        thread.start();
        return call;
    }

    private void run(Callable<T> task) {
        long start = System.nanoTime();
        T value = null;
        Exception failure = null;
        try {
            value = task.call();
        } catch (Exception e) {
            failure = e;
        }
        Duration took = Duration.ofNanos(System.nanoTime() - start);
        outcome.complete(new Outcome<>(value, failure, took));
    }

    /** Waits until all have ended, but not for longer than this: who asks for the outcome of one that goes on is told. */
    static void awaitEnds(Duration atMost, Call<?>... calls) throws InterruptedException {
        CompletableFuture<?> all = CompletableFuture.allOf(
                Stream.of(calls).map(call -> call.outcome).toArray(CompletableFuture<?>[]::new));
        try {
            all.get(atMost.toMillis(), TimeUnit.MILLISECONDS);
        } catch (TimeoutException oneGoesOn) {
            // See above.
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** How it ended, after a wait of at most this. */
    Outcome<T> awaitOutcome(Duration atMost) throws InterruptedException {
        awaitEnds(atMost, this);
        return outcome();
    }

    /**
     * How it ended.
     *
     * @throws AssertionError if it goes on
     */
    Outcome<T> outcome() {
        if (!outcome.isDone()) {
            throw new AssertionError("'" + what + "' has not returned");
        }
        return outcome.join();
    }
}
