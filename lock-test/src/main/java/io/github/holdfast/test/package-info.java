/**
 * Real databases for tests, without Docker.
 *
 * <p>{@link io.github.holdfast.test.OnDatabase} gives a JUnit class a fresh {@link io.github.holdfast.test.Database} of a
 * {@link io.github.holdfast.test.TestDatabase kind}; the data sources of {@code lock-test-jdbc} wrap one to count or to break what is sent.
 */
@NullMarked
package io.github.holdfast.test;

import org.jspecify.annotations.NullMarked;
