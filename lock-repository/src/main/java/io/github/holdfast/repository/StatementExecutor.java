package io.github.holdfast.repository;

import io.github.holdfast.repository.AutocommitExecutor.Kind;
import io.github.holdfast.repository.AutocommitExecutor.Statement;

/** Executes statements: each in a transaction of its own, or all in the current transaction. Thread-safe. */
interface StatementExecutor {

    /**
     * Executes a statement.
     *
     * @param kind whether it reads or writes
     */
    <T> T execute(Statement<T> statement, Kind kind);
}
