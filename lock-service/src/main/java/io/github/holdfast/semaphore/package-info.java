/**
 * Semaphores: permits for a limited number of holders across all nodes.
 *
 * <p>{@link io.github.holdfast.service.LockService#semaphore} returns a {@link io.github.holdfast.semaphore.Semaphore} for a {@link
 * io.github.holdfast.semaphore.SemaphoreRequest}.
 */
@NullMarked
package io.github.holdfast.semaphore;

import org.jspecify.annotations.NullMarked;
