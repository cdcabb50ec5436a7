/**
 * A model of how a service finds out that another one is dead, if the servers of the database have clocks of their own, or if the one
 * clock is set. What it models is in ADR 0007.
 *
 * <p>It has one lock and two services, each with a node. One beats, the other observes. A heartbeat increments the counter in the row of the node; its statement, its
 * answer, a read and its answer are steps of their own. Time passes at any step, so that every pause is among the interleavings. A
 * server may show an earlier counter, and a failover may undo what had no answer.
 *
 * <p>Not in it: grants in doubt, leases, and reconciliations, which the model of the protocol has; a clock that is set back,
 * housekeeping, and the slack of the comparison of clocks.
 */
@NullMarked
package io.github.holdfast.faults.model.clocks;

import org.jspecify.annotations.NullMarked;
