/**
 * Stores locks in the database.
 *
 * <p>{@link io.github.holdfast.repository.LockStore} runs short transactions of its own, and gives out the operations on the rows. {@link
 * io.github.holdfast.repository.LockRows} reads a lock with the database's clock, and writes it by compare-and-set. A database error becomes a {@link io.github.holdfast.repository.StoreException}, whose failure says
 * whether the write may have happened. What differs between databases, a {@link io.github.holdfast.repository.LockDialect} says. {@link io.github.holdfast.repository.LockSchema} creates the tables where neither
 * Liquibase nor Flyway does.
 */
@NullMarked
package io.github.holdfast.repository;

import org.jspecify.annotations.NullMarked;
