package io.github.holdfast.test;

import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/**
 * Reports that this machine lacks something that a test needs. On a developer's machine, the test is skipped, and the build
 * prints the reason at its end. On a build server, with the environment variable {@code CI=true}, the test fails. Thread-safe.
 *
 * <pre>{@code
 * if (!Files.isExecutable(CHROMIUM)) {
 *     throw Unavailable.because("there is no browser", "chromium", "chromium-driver");
 * }
 * }</pre>
 */
public final class Unavailable {

    private Unavailable() {}

    static RuntimeException because(TestDatabase kind, Throwable cause) {
        // Masks ports and temporary directories, because they differ between tests.
        String reason =
                String.valueOf(cause.getMessage()).replaceAll("\\s+", " ").replaceAll("[0-9]{5,}", "...");
        return because(kind.label() + " did not start: " + reason, cause);
    }

    /**
     * Returns the exception for a test, or a method called before it, to throw.
     *
     * @param reason what is missing; tests that lack the same thing must give the same reason, because they are counted by it
     * @param packages the Debian packages that contain the missing thing; none if the reason says what to do
     * @return a {@link TestAbortedException}, or an {@link IllegalStateException} on a build server
     */
    public static RuntimeException because(String reason, String... packages) {
        return because(reason + install(packages), (Throwable) null);
    }

    /**
     * Does the same as {@link #because(String, String...)}, but a build server also skips the test, because the missing thing
     * cannot be installed there.
     *
     * @param reason what is missing
     * @return the exception to throw
     */
    static TestAbortedException evenOnBuildServer(String reason) {
        Coverage.ofThisJvm().missing(reason);
        return new TestAbortedException(reason);
    }

    static RuntimeException because(String reason, @Nullable Throwable cause) {
        if (Coverage.mustBeComplete()) {
            return new IllegalStateException(reason, cause);
        }
        Coverage.ofThisJvm().missing(reason);
        return new TestAbortedException(reason, cause);
    }

    /** Returns the end of a sentence: how to install the packages. */
    static String install(String... packages) {
        return packages.length == 0 ? "" : " (Debian: apt-get install " + String.join(" ", packages) + ")";
    }
}
