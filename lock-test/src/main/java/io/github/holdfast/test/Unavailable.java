package io.github.holdfast.test;

import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/**
 * What happens when something that a test needs is not on this machine: on a developer's the test is skipped, and the build ends
 * with a line that says why (see {@link DatabaseCoverage}); on a build server, with the environment variable {@code CI=true}, it
 * fails. Thread-safe.
 *
 * <pre>{@code
 * if (!Files.isExecutable(CHROMIUM)) {
 *     throw Unavailable.because("there is no browser", "chromium", "chromium-driver");
 * }
 * }</pre>
 */
public final class Unavailable {

    private Unavailable() {}

    static boolean onBuildServer() {
        return Boolean.parseBoolean(System.getenv("CI"));
    }

    static RuntimeException because(TestDatabase kind, Throwable cause) {
        // Ports and temporary directories are not the same for each test.
        String reason =
                String.valueOf(cause.getMessage()).replaceAll("\\s+", " ").replaceAll("[0-9]{5,}", "...");
        return because(kind.label() + " did not start: " + reason, cause);
    }

    /**
     * What a test, or a method that is called before it, has to throw.
     *
     * @param reason what is missing, the same for all tests that lack the same thing: they are counted by it
     * @param packages the Debian packages that bring it; none if the reason says what to do
     * @return a {@link TestAbortedException}, or an {@link IllegalStateException} on a build server
     */
    public static RuntimeException because(String reason, String... packages) {
        return because(reason + install(packages), (Throwable) null);
    }

    /**
     * The same, for a test that is skipped on a build server too, because what it needs cannot be installed there.
     *
     * @param reason what is missing
     * @return what has to be thrown
     */
    public static TestAbortedException evenOnBuildServer(String reason) {
        Coverage.ofThisJvm().missing(reason);
        return new TestAbortedException(reason);
    }

    static RuntimeException because(String reason, @Nullable Throwable cause) {
        if (onBuildServer()) {
            return new IllegalStateException(reason, cause);
        }
        Coverage.ofThisJvm().missing(reason);
        return new TestAbortedException(reason, cause);
    }

    /** What brings them, for the end of a sentence. */
    static String install(String... packages) {
        return packages.length == 0 ? "" : " (Debian: apt-get install " + String.join(" ", packages) + ")";
    }
}
