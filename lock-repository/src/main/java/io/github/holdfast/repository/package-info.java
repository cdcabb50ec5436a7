/**
 * Stores locks in the database. {@link io.github.holdfast.repository.LockSchema} creates the tables where neither Liquibase nor
 * Flyway does. What differs between databases, a {@link io.github.holdfast.repository.LockDialect} says. A database error becomes a
 * {@link io.github.holdfast.repository.StoreException}, whose failure says whether the write may have happened.
 *
 * <p>The packages below are only for this project. {@code jdbc} executes statements. {@code rows} reads a lock with the database's
 * clock, and writes it by compare-and-set. {@code wakeup} wakes waiters on other nodes. {@code store} puts them together for one
 * persistence unit.
 */
@NullMarked
package io.github.holdfast.repository;

import org.jspecify.annotations.NullMarked;
