package io.github.holdfast.repository;

/** The database is none of those that Holdfast supports: PostgreSQL, MySQL, MariaDB and H2. The message says which it is. */
public final class UnsupportedDatabaseException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    UnsupportedDatabaseException(String message) {
        super(message);
    }
}
