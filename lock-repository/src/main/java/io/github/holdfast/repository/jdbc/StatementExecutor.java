package io.github.holdfast.repository.jdbc;

import io.github.holdfast.repository.jdbc.AutocommitExecutor.Kind;
import io.github.holdfast.repository.jdbc.AutocommitExecutor.Statement;

/** Executes statements: each in a transaction of its own, or all in the current transaction. Thread-safe. */
public interface StatementExecutor {

    /**
     * Executes a statement.
     *
     * @param kind whether it reads or writes
     */
    <T> T execute(Statement<T> statement, Kind kind);
}
