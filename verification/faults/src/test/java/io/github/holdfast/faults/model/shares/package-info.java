/**
 * A model of the shared locks and of the semaphores, whose holders have rows of their own. What it models is in ADR 0031.
 *
 * <p>It has one lock or one semaphore, and two or three services. A grant, a renewal and a heartbeat are executed in one step and
 * committed in a later one. In between, others see what was before, and writes of the same row wait. Statements and commits may
 * arrive late or never, and answers are lost. Times are what is left of them.
 *
 * <p>What the model of the exclusive locks shows already is shorter here: an exclusive grant is one step, its acquisition gives up if
 * there is no answer, and a service registers one node at most. Not in it: the mark that keeps new shares out, waiters,
 * nested holds, changes of a limit, forced releases, and the reconciliation.
 */
@NullMarked
package io.github.holdfast.faults.model.shares;

import org.jspecify.annotations.NullMarked;
