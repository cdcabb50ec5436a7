/**
 * The rows of Holdfast and the rules that change them.
 *
 * <p>{@link io.github.holdfast.entity.LockEntity} is one named lock, {@link io.github.holdfast.entity.LockNode} one
 * running service. Both are snapshots: what they were when the database was asked. Their methods judge such a snapshot
 * ({@link io.github.holdfast.entity.LockEntity#standing standing}) and compute the next ({@code granted},
 * {@code reentered}, {@code released}, {@code heldTimes}); nothing here reads a clock or talks to a database.
 *
 * <p>{@link io.github.holdfast.entity.LockAudit} is one forced release, which is written down and never changes,
 * {@link io.github.holdfast.entity.LockRun} one run of a task under its lock.
 */
@NullMarked
package io.github.holdfast.entity;

import org.jspecify.annotations.NullMarked;
