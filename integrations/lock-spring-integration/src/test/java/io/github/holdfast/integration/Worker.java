package io.github.holdfast.integration;

import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/** A thread that does one thing after the other. Locks belong to threads. */
final class Worker implements AutoCloseable {

    static final Duration LONG = Duration.ofSeconds(60);

    private final ExecutorService executor = Executors.newSingleThreadExecutor();
    private volatile Thread thread = Thread.currentThread();

    Worker() throws Exception {
        thread = call(Thread::currentThread);
    }

    /** Does something, and returns its result or throws its exception. */
    <T> T call(Callable<T> work) throws Exception {
        return result(start(work));
    }

    boolean tryLock(Lock lock) throws Exception {
        return call(() -> lock.tryLock());
    }

    void lock(Lock lock) throws Exception {
        result(executor.submit(lock::lock, true));
    }

    void unlock(Lock lock) throws Exception {
        result(executor.submit(lock::unlock, true));
    }

    <T> Future<T> start(Callable<T> work) {
        return executor.submit(work);
    }

    static <T> T result(Future<T> future) throws Exception {
        try {
            return future.get(LONG.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof Exception exception) {
                throw exception;
            }
            throw failed;
        }
    }

    void interrupt() {
        thread.interrupt();
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
