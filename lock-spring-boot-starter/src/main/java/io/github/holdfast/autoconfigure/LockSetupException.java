package io.github.holdfast.autoconfigure;

import org.jspecify.annotations.Nullable;

/** The application is not set up for locks; it says what to change. */
final class LockSetupException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final String action;

    /**
     * The description and what to do.
     *
     * @param problem what is wrong
     * @param action the line to add or to change
     */
    LockSetupException(String problem, String action) {
        this(problem, action, null);
    }

    LockSetupException(String problem, String action, @Nullable Throwable cause) {
        super(problem, cause);
        this.action = action;
    }

    String action() {
        return action;
    }
}
