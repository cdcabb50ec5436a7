package io.github.holdfast.service.engine.hold;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** A thread that acquires a lock, and waits for a holder of this process. */
public final class HandOffThread extends FutureTask<LockHandle> {

    private final Thread thread = new Thread(this);

    private HandOffThread(Callable<LockHandle> acquisition) {
        super(acquisition);
    }

    /** Starts one, and returns when it waits. */
    public static HandOffThread start(Callable<LockHandle> acquisition) {
        HandOffThread waiter = new HandOffThread(acquisition);
        waiter.thread.start();
        await().until(waiter::isWaiting);
        return waiter;
    }

    private boolean isWaiting() {
        return Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals(HandOffWaiter.class.getName()));
    }

    public void interrupt() {
        thread.interrupt();
    }

    /** Waits until it has the lock. */
    public LockHandle lock() throws Exception {
        return get(20, TimeUnit.SECONDS);
    }

    /** Waits until it has ended, for this long at the most. */
    public void join(long millis) throws InterruptedException {
        thread.join(millis);
    }
}
