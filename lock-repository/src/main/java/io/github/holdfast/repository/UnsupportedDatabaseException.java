package io.github.holdfast.repository;

/**
 * Thrown for a database that Holdfast does not support. It supports PostgreSQL, MySQL, MariaDB, H2, and those with a {@link
 * LockDialect} on the class path. The message names the database.
 */
public final class UnsupportedDatabaseException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    UnsupportedDatabaseException(String message) {
        super(message);
    }
}
