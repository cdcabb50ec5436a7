/**
 * The engine that acquires, keeps, renews, hands over and releases locks. It is not for applications: only the packages {@code
 * service} and {@code task} may import it.
 *
 * <p>{@code LockEngine} starts, wires and ends the components. A {@code LeaseAcquisition} is one call of {@code acquire}, and
 * each of its attempts on the row is a {@code GrantAttempt}. A {@code LeaseHold} is one outermost acquisition with its row; it
 * prolongs and releases the grant. {@code HoldRegistry} keeps the holds of this service, and {@code InDoubtWrites} settles writes
 * that had no answer. Another package can add a {@code GrantStep} to the transaction of a grant.
 */
@NullMarked
package io.github.holdfast.service.engine;

import org.jspecify.annotations.NullMarked;
