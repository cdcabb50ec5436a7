package io.github.holdfast.repository.store;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** The threads of one test. */
public final class TestThreads implements AutoCloseable {

    private final ExecutorService threads = Executors.newCachedThreadPool();

    public <T> Future<T> start(Callable<T> work) {
        return threads.submit(work);
    }

    /** Runs the work in several threads that begin at the same time. */
    public <T> List<T> together(int count, Callable<T> work) throws Exception {
        CyclicBarrier begin = new CyclicBarrier(count);
        List<Future<T>> results = new ArrayList<>();
        for (int thread = 0; thread < count; thread++) {
            results.add(start(() -> {
                begin.await();
                return work.call();
            }));
        }
        List<T> values = new ArrayList<>();
        for (Future<T> result : results) {
            values.add(result.get(60, TimeUnit.SECONDS));
        }
        return values;
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
