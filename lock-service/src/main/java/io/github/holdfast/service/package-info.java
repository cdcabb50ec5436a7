/**
 * Distributed locks in the application's own database.
 *
 * <p>{@link io.github.holdfast.service.LockService} is the way in: it takes a
 * {@link io.github.holdfast.service.LockRequest} and gives a {@link io.github.holdfast.service.LockHandle}. Inside, an
 * {@code Acquisition} is one call of {@code acquire}, and each of its attempts a {@code Judgement} of the row; a {@code Hold} is one
 * outermost acquisition with its row, which {@code Renewal} lets last and {@code HoldEnd} gives back;
 * {@code HeldLocks} knows the holds of this service, and {@code Settler} ends what an unanswered commit left open. {@link
 * io.github.holdfast.service.TaskLock} runs a task once in a while: {@code RunStart} is the part of it that belongs to the grant.
 */
@NullMarked
package io.github.holdfast.service;

import org.jspecify.annotations.NullMarked;
