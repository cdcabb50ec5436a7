package io.github.holdfast.task;

import io.github.holdfast.entity.LockNames;
import io.github.holdfast.entity.LockRun;

/** Summarizes a failure in a few lines: the exception and its root cause. */
final class ErrorSummary {

    private static final int MAX_CAUSES = 100;

    private ErrorSummary() {}

    /** Returns the summary. If the methods of an application's exception fail, returns only the name of its class. */
    static String of(Throwable failure) {
        try {
            return summary(failure);
        } catch (RuntimeException | StackOverflowError indescribable) {
            return failure.getClass().getName();
        }
    }

    private static String summary(Throwable failure) {
        Throwable root = failure;
        for (int depth = 0; root.getCause() != null && root.getCause() != failure && depth < MAX_CAUSES; depth++) {
            root = root.getCause();
        }
        String summary = root == failure ? String.valueOf(failure) : failure + "; caused by " + root;
        return LockRun.shortened(LockNames.storable(summary));
    }
}
