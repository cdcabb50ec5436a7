/**
 * The API that applications use to acquire locks.
 *
 * <p>{@link io.github.holdfast.lock.Locks} takes a {@link io.github.holdfast.lock.LockRequest} and returns a {@link
 * io.github.holdfast.lock.LockHandle}. This package contains only values, interfaces and exceptions. An application can
 * therefore write its own {@code Locks}, for example a test double. {@link io.github.holdfast.service.LockService} implements
 * {@code Locks} with a database.
 */
@NullMarked
package io.github.holdfast.lock;

import org.jspecify.annotations.NullMarked;
