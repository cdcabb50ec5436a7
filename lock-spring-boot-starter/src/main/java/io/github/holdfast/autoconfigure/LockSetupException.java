package io.github.holdfast.autoconfigure;

import io.github.holdfast.repository.UnsupportedDatabaseException;
import org.jspecify.annotations.Nullable;

/** The application is not set up for locks; it says what to change. */
final class LockSetupException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private static final String SUPPORTED = """
            Use PostgreSQL, MySQL, MariaDB or H2. Tests may have H2 in the place of another:

                spring.datasource.url=jdbc:h2:mem:test

            or do without Holdfast:

                holdfast.enabled=false

            There is no LockService then: beans that want one need a mock (@MockitoBean LockService), and so do @Locked methods, \
            which are not run without their locks.""";

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

    static LockSetupException of(UnsupportedDatabaseException unsupported) {
        return new LockSetupException(String.valueOf(unsupported.getMessage()), SUPPORTED, unsupported);
    }

    String action() {
        return action;
    }
}
