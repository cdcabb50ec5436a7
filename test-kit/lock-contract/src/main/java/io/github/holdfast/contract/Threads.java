package io.github.holdfast.contract;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.IntFunction;

/** Runs work in several threads that start at the same time. */
final class Threads {

    private Threads() {}

    /** Runs the work of each thread, and returns the results. They are in the order of the thread numbers, which start at 0. */
    static <T> List<T> together(int threads, IntFunction<Callable<T>> work) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        CyclicBarrier start = new CyclicBarrier(threads);
        try {
            List<Future<T>> futures = new ArrayList<>();
            for (int thread = 0; thread < threads; thread++) {
                Callable<T> own = work.apply(thread);
                futures.add(executor.submit(() -> {
                    start.await();
                    return own.call();
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(resultOf(future));
            }
            return results;
        } finally {
            executor.shutdownNow();
        }
    }

    /**
     * Returns the result, or throws the thread's own exception. The {@link ExecutionException} around it would hide the failure
     * of the test.
     */
    static <T> T resultOf(Future<T> future) throws Exception {
        try {
            return future.get();
        } catch (ExecutionException failed) {
            throw causeOf(failed);
        }
    }

    /** As {@link #resultOf(Future)}, but fails with this message if there is no result in time. */
    static <T> T resultOf(Future<T> future, Duration atMost, String otherwise) throws Exception {
        try {
            return future.get(atMost.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            throw causeOf(failed);
        } catch (TimeoutException late) {
            throw new AssertionError(otherwise, late);
        }
    }

    private static Exception causeOf(ExecutionException failed) {
        if (failed.getCause() instanceof Error error) {
            throw error;
        }
        return failed.getCause() instanceof Exception exception ? exception : failed;
    }
}
