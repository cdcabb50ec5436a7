package io.github.holdfast.faults;

import io.github.holdfast.test.FakeTime;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** The wall clock of other processes, which can be set; their monotonic clock stays the machine's. */
final class WallClock {

    private final Path file;

    /**
     * A clock.
     *
     * @param file what sets it
     * @param ahead of the machine's
     */
    WallClock(Path file, Duration ahead) {
        this.file = file;
        set(ahead);
    }

    /** The environment of a process that has this clock. */
    Map<String, String> environment() {
        Map<String, String> environment = new HashMap<>(FakeTime.environment(Duration.ZERO));
        environment.remove("FAKETIME");
        environment.put("FAKETIME_TIMESTAMP_FILE", file.toAbsolutePath().toString());
        environment.put("FAKETIME_CACHE_DURATION", "0");
        environment.put("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        // Otherwise each wait of a JVM ends at once.
        environment.put("FAKETIME_FORCE_MONOTONIC_FIX", "0");
        return environment;
    }

    /** The environment of a process that starts a server, and of the server's processes. */
    Map<String, String> environmentOfServer(TestDatabase kind) {
        Map<String, String> environment = environment();
        if (kind == TestDatabase.POSTGRESQL) {
            // It looks at the clock in signal handlers, where the lock of the multi-threaded library could deadlock.
            environment.computeIfPresent(
                    "LD_PRELOAD", (name, library) -> library.replace("libfaketimeMT.so", "libfaketime.so"));
        }
        return environment;
    }

    /** Sets it; the processes notice within a second. */
    void set(Duration ahead) {
        Path next = file.resolveSibling(file.getFileName() + ".next");
        try {
            Files.writeString(next, String.format(Locale.ROOT, "%+.3fs%n", ahead.toMillis() / 1000.0));
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
