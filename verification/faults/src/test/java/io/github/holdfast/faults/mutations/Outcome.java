package io.github.holdfast.faults.mutations;

import io.github.holdfast.lock.LockNotAcquiredException;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.launcher.TestIdentifier;

/**
 * How tests came out.
 *
 * @param lines one for each test, and for each class that failed as a whole
 */
record Outcome(List<String> lines) {

    private static final String PASSED = "passed";
    private static final String FOUND = "found ";
    private static final String FAILED = "failed ";

    static final String SKIPPED = "skipped ";

    static String line(TestIdentifier test, TestExecutionResult result) {
        if (result.getStatus() == Status.SUCCESSFUL) {
            return PASSED;
        }
        String what = test.getUniqueId()
                + result.getThrowable().map(thrown -> ": " + thrown).orElse("").replaceAll("\\s+", " ");
        if (result.getStatus() == Status.ABORTED) {
            return SKIPPED + what;
        }
        return (result.getThrowable().filter(Outcome::isFinding).isPresent() ? FOUND : FAILED) + what;
    }

    /** What fails otherwise says nothing of the code: perhaps a server did not start, or a process was too slow. */
    private static boolean isFinding(Throwable thrown) {
        if (thrown instanceof ExecutionException && thrown.getCause() != null) {
            return isFinding(thrown.getCause());
        }
        StackTraceElement[] frames = thrown.getStackTrace();
        if (frames.length > 0 && frames[0].getClassName().startsWith("io.github.holdfast.test.")) {
            return false;
        }
        return thrown instanceof AssertionError
                || thrown instanceof ConditionTimeoutException
                || thrown instanceof TimeoutException
                || thrown instanceof LockNotAcquiredException;
    }

    /** Whether a test found that the code is wrong. */
    boolean isFound() {
        return lines.stream().anyMatch(line -> line.startsWith(FOUND));
    }

    boolean isPassed(int atLeast) {
        return lines.size() >= atLeast && lines.stream().allMatch(PASSED::equals);
    }
}
