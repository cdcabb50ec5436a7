/**
 * The rows of Holdfast and the rules that change them.
 *
 * <p>{@link io.github.holdfast.entity.LockEntity} is one named lock. {@link io.github.holdfast.entity.LockNode} is one running
 * service. Both are snapshots of a row from the time of the read. Their methods evaluate the snapshot ({@link
 * io.github.holdfast.entity.LockEntity#availability availability}) and compute the next state ({@code granted}, {@code
 * reentered}, {@code released}, {@code withHoldCount}). No class here reads a clock or connects to a database.
 *
 * <p>{@link io.github.holdfast.entity.LockAudit} is one forced release; its record never changes. {@link
 * io.github.holdfast.entity.LockRun} is one run of a task under its lock. {@code LockWaiter} is one waiter for a lock, and {@code
 * LockHolder} one of several holders. Both are hidden, because only queries use them. {@link
 * io.github.holdfast.entity.LockEntity#ENTITIES} lists all of them.
 */
@NullMarked
package io.github.holdfast.entity;

import org.jspecify.annotations.NullMarked;
