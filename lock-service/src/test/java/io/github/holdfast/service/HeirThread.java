package io.github.holdfast.service;

import static org.awaitility.Awaitility.await;

import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** A thread that acquires a lock, and waits for a holder of this process. */
final class HeirThread extends FutureTask<LockHandle> {

    private final Thread thread = new Thread(this);

    private HeirThread(Callable<LockHandle> acquisition) {
        super(acquisition);
    }

    /** Starts one, and returns when it waits. */
    static HeirThread start(Callable<LockHandle> acquisition) {
        HeirThread heir = new HeirThread(acquisition);
        heir.thread.start();
        await().until(heir::isWaiting);
        return heir;
    }

    private boolean isWaiting() {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(Heir.class.getName()));
    }

    void interrupt() {
        thread.interrupt();
    }

    /** Waits until it has the lock. */
    LockHandle lock() throws Exception {
        return get(20, TimeUnit.SECONDS);
    }

    /** Waits until it has ended, for this long at the most. */
    void join(long millis) throws InterruptedException {
        thread.join(millis);
    }
}
