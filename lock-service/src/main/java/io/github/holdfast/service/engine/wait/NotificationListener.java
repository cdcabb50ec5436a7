package io.github.holdfast.service.engine.wait;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.wakeup.WakeUpChannel;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.LogEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens for locks that other nodes release, on a thread and a connection of its own. When the connection breaks, it wakes all
 * waiters. The service polls until another connection listens. Thread-safe.
 */
final class NotificationListener implements WakeUpChannel.Receiver, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(NotificationListener.class);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(500);
    private static final Duration LONGEST_PAUSE = Duration.ofMinutes(1);

    /** Together three seconds for the end of the thread: a last check for notifications, and a statement that stops listening. */
    private static final int CLOSE_ATTEMPTS = 30;

    private static final Duration CLOSE_PAUSE = Duration.ofMillis(100);

    /** After a second, the network may be broken. */
    private static final int ABORTING_ATTEMPT = 10;

    /** Handles the notifications that a {@link WakeUpChannel.Receiver} receives. Thread-safe. */
    interface Audience {

        /** Notifies the waiters of a lock that another node has released. */
        void notified(String name);

        /**
         * Notifies the waiters of locks that another node has released.
         *
         * @param free reads the names of those locks, with one statement
         */
        void woken(Supplier<List<String>> free);

        /** Notifies the waiters of these locks, as {@link WakeUpChannel.Receiver#stillFree} does. */
        void stillFree(List<String> names);

        /** Notes that a release has found another node that waits. */
        void awaitedElsewhere(String name);

        /** Wakes all waiters, because a wake-up may have been missed. */
        void wakeAll();
    }

    private final WakeUpChannel channel;
    private final Audience audience;
    private final Thread thread = Background.threads("holdfast-wake-up").newThread(this::run);
    private final CountDownLatch closed = new CountDownLatch(1);
    private final AtomicBoolean isStarted = new AtomicBoolean();
    private volatile boolean isListening;

    /** Whether a warning was logged since the last time that notifications were received. */
    private boolean isReported;

    NotificationListener(WakeUpChannel channel, Audience audience) {
        this.channel = channel;
        this.audience = audience;
    }

    /** Starts the thread, unless that was done before. */
    void startOnce() {
        if (!isStarted.get() && isOpen() && !isStarted.getAndSet(true)) {
            thread.start();
        }
    }

    /** Whether this node receives notifications of other nodes, as far as it knows. */
    boolean isListening() {
        return isListening;
    }

    private void run() {
        Duration pause = FIRST_PAUSE;
        do {
            listen();
            Duration longer = pause.multipliedBy(2);
            pause = isListening ? FIRST_PAUSE : longer.compareTo(LONGEST_PAUSE) < 0 ? longer : LONGEST_PAUSE;
            isListening = false;
            audience.wakeAll();
        } while (!isClosedWithin(pause));
    }

    /** Listens until the connection breaks. Whatever goes wrong, the thread goes on. */
    private void listen() {
        try {
            channel.listen(this);
        } catch (StoreException failed) {
            if (isOpen() && !isReported) {
                isReported = true;
                LogEvent.WAKE_UP_LOST
                        .in(LOG.atWarn())
                        .log("Notifications are not received, so waiting threads poll: {}", failed.getMessage());
            }
            LOG.debug("Notifications are not received", failed);
        } catch (Throwable failed) {
            if (isOpen()) {
                LogEvent.WAKE_UP_LOST
                        .in(LOG.atError())
                        .setCause(failed)
                        .log("Notifications are not received, so waiting threads poll");
            }
        }
    }

    private boolean isClosedWithin(Duration pause) {
        try {
            return closed.await(pause.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            // No code should interrupt this thread. After an interrupt, it ends without a report.
            return true;
        }
    }

    // Called by the channel, on the thread

    @Override
    public boolean isOpen() {
        return closed.getCount() > 0;
    }

    @Override
    public void ready() {
        isListening = true;
        isReported = false;
        audience.wakeAll();
    }

    @Override
    public void lockReleased(String lockName) {
        audience.notified(lockName);
    }

    @Override
    public void woken(Supplier<List<String>> free) {
        audience.woken(free);
    }

    @Override
    public void stillFree(List<String> lockNames) {
        audience.stillFree(lockNames);
    }

    @Override
    public void awaitedElsewhere(String lockName) {
        audience.awaitedElsewhere(lockName);
    }

    /** Ends the thread. It first gives its connection up. */
    @Override
    public void close() {
        closed.countDown();
        try {
            // A thread that is about to connect does not notice, so it is notified again.
            for (int attempt = 0; thread.isAlive() && attempt < CLOSE_ATTEMPTS; attempt++) {
                if (attempt < ABORTING_ATTEMPT) {
                    channel.stopListening();
                } else {
                    channel.abortListening();
                }
                thread.join(CLOSE_PAUSE.toMillis());
            }
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
