package io.github.holdfast.test;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Other clocks for other processes, by preloading libfaketime. */
public final class FakeTime {

    private static final List<String> DIRECTORIES = List.of(
            "/usr/lib/x86_64-linux-gnu/faketime",
            "/usr/lib/aarch64-linux-gnu/faketime",
            "/usr/lib64/faketime",
            "/usr/lib/faketime",
            "/usr/local/lib/faketime");

    private FakeTime() {}

    /**
     * The environment of a process, such as a {@link JavaProcess}, whose clock is ahead or behind but runs as fast as the real
     * one.
     *
     * <p>The monotonic clock is moved with it. That is on purpose: moved clocks differ by a constant, so durations stay right,
     * whereas a JVM that sees only one of them moved returns from {@code Object.wait} at once.
     *
     * @param offset how far the clock is ahead; negative if it is behind
     * @return names and values
     * @throws org.opentest4j.TestAbortedException if libfaketime is not installed; with the environment variable
     *     {@code CI=true} it is an {@link IllegalStateException}
     */
    public static Map<String, String> environment(Duration offset) {
        return Map.of("LD_PRELOAD", library("libfaketimeMT.so.1"), "FAKETIME", format(offset), "NO_FAKE_STAT", "1");
    }

    /** The same with a clock that can be set: the file holds its {@link #format offset}, and is read again each second. */
    static Map<String, String> environment(Path file, TestDatabase kind) {
        // PostgreSQL looks at the clock in signal handlers, where the lock of the multi-threaded library could
        // deadlock.
        String library = kind == TestDatabase.POSTGRESQL ? "libfaketime.so.1" : "libfaketimeMT.so.1";
        return Map.of(
                "LD_PRELOAD",
                library(library),
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

    private static String library(String name) {
        return DIRECTORIES.stream()
                .map(directory -> Path.of(directory, name))
                .filter(Files::exists)
                .findFirst()
                .orElseThrow(() -> Unavailable.because("there is no libfaketime", "faketime"))
                .toString();
    }
}
