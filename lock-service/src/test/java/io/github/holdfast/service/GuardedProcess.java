package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.service.GuardedWork.Figures;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;

/** A {@link GuardedWorker} as its parent sees it: it works, is stopped between a read and the write, frozen there, and goes on. */
final class GuardedProcess implements AutoCloseable {

    /** Longer than a takeover takes on a busy machine. */
    private static final Duration LONG = ofSeconds(10);

    private static final Duration SOON = ofMinutes(2);

    private final JavaProcess process;

    private GuardedProcess(JavaProcess process) {
        this.process = process;
    }

    /** Starts one that waits for work. */
    static GuardedProcess start(Database database) {
        return new GuardedProcess(JavaProcess.of(GuardedWorker.class)
                .jvmArgs("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
                .args(database.url(), database.user(), database.password())
                .start());
    }

    /** Gives it work that it is to begin when it is told to go. */
    void prepare(GuardedWork work) throws InterruptedException {
        process.send(work.line());
        process.awaitLine("ready"::equals, JavaProcess.LONGEST_START);
    }

    /** Waits until the work is done. */
    Figures end() throws InterruptedException {
        return Figures.of(process.awaitLine(line -> line.startsWith("done "), SOON));
    }

    /** Tells it to stop between its next read and write. */
    void tellToStop() {
        process.send("stop");
    }

    /** Waits until it has stopped; returns the token that it has read under. */
    long awaitStop() throws InterruptedException {
        String line = process.awaitLine(told -> told.startsWith("between "), SOON);
        return Long.parseLong(line.substring(line.indexOf(' ') + 1));
    }

    /** Freezes it where it was stopped, until another one has committed under a newer token. */
    void freeze(Ledger ledger, long token) {
        await().atMost(SOON).until(() -> isOvertakenWhileFrozen(ledger, token));
    }

    /** Frozen between a heartbeat and its commit, it keeps the row of its node from everybody: then it is tried again. */
    private boolean isOvertakenWhileFrozen(Ledger ledger, long token) {
        process.pause();
        try {
            long start = System.nanoTime();
            await().pollInterval(ofMillis(20))
                    .atMost(SOON)
                    .until(() -> ledger.isPast(token) || System.nanoTime() - start > LONG.toNanos());
            return ledger.isPast(token);
        } finally {
            process.resume();
        }
    }

    /** Lets it begin, or write what it was stopped before. */
    void go() {
        process.send("go");
    }

    @Override
    public void close() {
        process.close();
    }
}
