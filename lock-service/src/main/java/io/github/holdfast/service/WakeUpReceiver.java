package io.github.holdfast.service;

import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.WakeUpChannel;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Hears on a thread and a connection of its own which locks other nodes give back. When the connection breaks, all who wait are
 * woken and poll, until another one listens. Thread-safe.
 */
final class WakeUpReceiver implements WakeUpChannel.Receiver, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(WakeUpReceiver.class);

    private static final Duration FIRST_PAUSE = Duration.ofMillis(500);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(30);

    /** A look whether there is more to hear, and a statement to end it. */
    private static final Duration CLOSE_LIMIT = Duration.ofSeconds(3);

    private final WakeUpChannel channel;
    private final WakeUps wakeUps;
    private final Thread thread = Daemons.named("holdfast-wake-up").newThread(this::run);
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean isListening;

    WakeUpReceiver(WakeUpChannel channel, WakeUps wakeUps) {
        this.channel = channel;
        this.wakeUps = wakeUps;
    }

    void start() {
        thread.start();
    }

    /** Whether what other nodes send is heard, as far as is known. */
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
            wakeUps.wakeAll();
        } while (!isClosedWithin(pause));
    }

    /** Whatever goes wrong, the thread goes on. */
    private void listen() {
        try {
            channel.listen(this);
        } catch (StoreException failed) {
            if (isOpen()) {
                LogEvent.WAKE_UP_LOST
                        .in(LOG.atWarn())
                        .log("Notifications are not heard, waiting threads poll: {}", failed.getMessage());
                LOG.debug("Notifications are not heard", failed);
            }
        } catch (Throwable failed) {
            if (isOpen()) {
                LogEvent.WAKE_UP_LOST
                        .in(LOG.atError())
                        .setCause(failed)
                        .log("Notifications are not heard, waiting threads poll");
            }
        }
    }

    private boolean isClosedWithin(Duration pause) {
        try {
            return closed.await(pause.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException interrupted) {
            // Nobody should, and nobody is told when it has ended.
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
        wakeUps.wakeAll();
    }

    @Override
    public void givenBack(String lockName) {
        wakeUps.notified(lockName);
    }

    /** Ends the thread, which gives its connection back first. */
    @Override
    public void close() {
        closed.countDown();
        try {
            thread.join(CLOSE_LIMIT.toMillis());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
