package io.github.holdfast.test.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;

/** Sends signals that Java itself cannot send. */
public final class Signal {

    private static final Duration STANDSTILL_LIMIT = Duration.ofSeconds(20);

    private Signal() {}

    /**
     * Pauses all threads of the process. On Linux, all threads have stopped when this method returns. Elsewhere, a thread may run
     * on for a moment.
     */
    public static void stop(long pid) {
        send("STOP", pid);
        awaitStandstill(pid);
    }

    /** Resumes the threads. */
    static void resume(long pid) {
        send("CONT", pid);
    }

    private static void send(String signal, long pid) {
        try {
            Process kill = new ProcessBuilder("sh", "-c", "kill -s " + signal + " " + pid).start();
            if (kill.onExit().join().exitValue() != 0) {
                throw new IllegalStateException("Signal " + signal + " could not be sent to " + pid);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits until all threads have stopped. A thread on another processor runs on until that processor notices the signal. */
    private static void awaitStandstill(long pid) {
        Path threads = Path.of("/proc", String.valueOf(pid), "task");
        long start = System.nanoTime();
        while (Files.isDirectory(threads) && !isStandstill(threads)) {
            if (System.nanoTime() - start > STANDSTILL_LIMIT.toNanos()) {
                throw new IllegalStateException(pid + " did not stop within " + STANDSTILL_LIMIT);
            }
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static boolean isStandstill(Path threads) {
        try (DirectoryStream<Path> all = Files.newDirectoryStream(threads)) {
            for (Path thread : all) {
                String status = Files.readString(thread.resolve("stat"));
                // The state follows the name, which may contain any character. These states mean stopped, or ended but
                // not yet reaped.
                if ("TZX".indexOf(status.charAt(status.lastIndexOf(')') + 2)) < 0) {
                    return false;
                }
            }
            return true;
        } catch (IOException | DirectoryIteratorException oneHasEnded) {
            return false;
        }
    }
}
