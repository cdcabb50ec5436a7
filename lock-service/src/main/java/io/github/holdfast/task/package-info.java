/**
 * Tasks that run at most once per period across all nodes.
 *
 * <p>{@link io.github.holdfast.service.LockService#task} returns a {@link io.github.holdfast.task.TaskLock} for a {@link
 * io.github.holdfast.task.TaskRequest}. Each task runs under a lock. {@code RunStart} records the start of a run in the
 * transaction that grants the lock. {@code RunEnd} records the end before the lock is released.
 */
@NullMarked
package io.github.holdfast.task;

import org.jspecify.annotations.NullMarked;
