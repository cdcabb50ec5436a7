/**
 * Tasks that run at most once per period across all nodes.
 *
 * <p>{@link io.github.holdfast.service.LockService#task} returns a {@link io.github.holdfast.task.TaskLock} for a {@link
 * io.github.holdfast.task.TaskRequest}. Each task runs under a lock. The start of a run is recorded in the transaction that grants the
 * lock, and its end before the lock is released.
 */
@NullMarked
package io.github.holdfast.task;

import org.jspecify.annotations.NullMarked;
