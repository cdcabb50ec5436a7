package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.UnsupportedDatabaseException;
import org.jspecify.annotations.Nullable;

/** Thrown if the application is not set up for locks. It says what to change. */
final class LockSetupException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    static final String SUPPORTED = """
            Use PostgreSQL, MySQL, MariaDB or H2. Tests may use H2 in place of another database:

                spring.datasource.url=jdbc:h2:mem:test

            or disable Holdfast:

                holdfast.enabled=false

            There is no LockService then: beans that need one need a mock (@MockitoBean LockService), and so do \
            @Locked methods, which do not run without their locks.""";

    private final String action;

    /**
     * Creates an exception with a description and a remedy.
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

    static LockSetupException of(UnsupportedDatabaseException unsupported) {
        return new LockSetupException(String.valueOf(unsupported.getMessage()), SUPPORTED, unsupported);
    }

    String action() {
        return action;
    }
}
