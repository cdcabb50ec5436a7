/**
 * The store of the locks.
 *
 * <p>{@link io.github.holdfast.repository.LockStore} runs short transactions of its own,
 * {@link io.github.holdfast.repository.LockRepository} is what can be done in one: read a lock with the database's
 * clock, and write it by compare-and-set. Whatever the database refuses leaves as a
 * {@link io.github.holdfast.repository.StoreException} that says what became of the write.
 * {@link io.github.holdfast.repository.LockSchema} creates the tables where neither Liquibase nor Flyway does.
 */
@NullMarked
package io.github.holdfast.repository;

import org.jspecify.annotations.NullMarked;
