package example.pricelist;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Stops the threads that come to a place, until they may go on. */
final class Pause {

    static final long LONGEST_SECONDS = 60;

    private final CompletableFuture<Void> reached = new CompletableFuture<>();
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    /** Waits until {@link #end}. The threads that are to stop call it. */
    void stop() {
        reached.complete(null);
        ended.join();
    }

    /** Waits until a thread has stopped. */
    void awaitReached() throws Exception {
        reached.get(LONGEST_SECONDS, TimeUnit.SECONDS);
    }

    void end() {
        ended.complete(null);
    }
}
