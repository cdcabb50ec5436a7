package io.github.holdfast.service;

import io.github.holdfast.entity.LockRun;

/** What a failure is called where there is room for a few lines only: what was thrown, and what caused it in the end. */
final class ErrorSummary {

    private static final int MAX_CAUSES = 100;

    private ErrorSummary() {}

    /** Never fails: what applications throw may not even be able to say what it is. */
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
        return LockRun.shortened(Names.storable(summary));
    }
}
