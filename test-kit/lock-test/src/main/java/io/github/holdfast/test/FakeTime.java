package io.github.holdfast.test;

import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Sets the clocks of other processes, by preloading libfaketime. */
public final class FakeTime {

    private static final List<String> DIRECTORIES = List.of(
            "/usr/lib/x86_64-linux-gnu/faketime",
            "/usr/lib/aarch64-linux-gnu/faketime",
            "/usr/lib64/faketime",
            "/usr/lib/faketime",
            "/usr/local/lib/faketime");

    private FakeTime() {}

    /**
     * Returns the environment for a process, such as a {@link JavaProcess}, with a clock that is ahead or behind. The clock runs
     * at normal speed.
     *
     * <p>The environment also moves the monotonic clock on purpose. It moves both by a constant, so durations stay right. If only
     * one clock moved, {@code Object.wait} would return at once in a JVM.
     *
     * @param offset how far the clock is ahead; negative if it is behind
     * @return names and values
     * @throws org.opentest4j.TestAbortedException if libfaketime is not installed; with the environment variable
     *     {@code CI=true} it is an {@link IllegalStateException}
     */
    public static Map<String, String> environment(Duration offset) {
        return environment(format(offset), library("libfaketimeMT.so.1"));
    }

    /**
     * Returns the environment for a server whose clock may also be faster or slower.
     *
     * @param clock how the clock differs, as libfaketime writes it, such as {@code +20s x1.02}
     * @return names and values
     * @throws org.opentest4j.TestAbortedException as for {@link #environment(Duration)}
     */
    public static Map<String, String> environment(String clock, TestDatabase kind) {
        return environment(clock, library(kind));
    }

    private static Map<String, String> environment(String clock, String library) {
        return Map.of("LD_PRELOAD", library, "FAKETIME", clock, "NO_FAKE_STAT", "1");
    }

    /**
     * Returns the environment for a settable clock. The file contains the {@link #format offset}, and the process reads the file
     * again each second.
     */
    static Map<String, String> environment(Path file, TestDatabase kind) {
        return Map.of(
                "LD_PRELOAD",
                library(kind),
                "FAKETIME_TIMESTAMP_FILE",
                file.toString(),
                "FAKETIME_CACHE_DURATION",
                "0",
                "NO_FAKE_STAT",
                "1");
    }

    static String format(Duration offset) {
        return String.format(Locale.ROOT, "%+.3fs", offset.toMillis() / 1000.0);
    }

    private static String library(TestDatabase kind) {
        // PostgreSQL reads the clock in signal handlers. There, the multi-threaded library could deadlock on its own
        // lock.
        return library(kind == TestDatabase.POSTGRESQL ? "libfaketime.so.1" : "libfaketimeMT.so.1");
    }

    private static String library(String name) {
        return DIRECTORIES.stream()
                .map(directory -> Path.of(directory, name))
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> Unavailable.because("there is no libfaketime", "faketime"))
                .toString();
    }
}
