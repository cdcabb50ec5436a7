package io.github.holdfast.test;

import org.jspecify.annotations.Nullable;
import org.opentest4j.TestAbortedException;

/** What happens when something that a test needs is not there: skipped on a developer's machine, failed on a build server. */
final class Unavailable {

    private Unavailable() {}

    static boolean onBuildServer() {
        return Boolean.parseBoolean(System.getenv("CI"));
    }

    static RuntimeException because(TestDatabase kind, Throwable cause) {
        String reason = String.valueOf(cause.getMessage()).replaceAll("\\s+", " ");
        return because(kind.label() + " did not start: " + reason, cause);
    }

    static RuntimeException because(String message, @Nullable Throwable cause) {
        return onBuildServer() ? new IllegalStateException(message, cause) : new TestAbortedException(message, cause);
    }
}
