/**
 * Real databases for tests, without Docker.
 *
 * <p>{@link io.github.holdfast.test.OnDatabase} provides a JUnit class with a fresh {@link io.github.holdfast.test.Database} of a
 * {@link io.github.holdfast.test.TestDatabase kind}. The data sources of {@code lock-test-jdbc} wrap such a database, to count
 * statements or to break connections.
 */
@NullMarked
package io.github.holdfast.test;

import org.jspecify.annotations.NullMarked;
