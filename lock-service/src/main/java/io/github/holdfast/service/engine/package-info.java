/**
 * The engine that acquires, keeps, renews, hands over and releases locks. It is not for applications: only the packages {@code
 * service}, {@code task}, {@code semaphore} and {@code election} may import it.
 *
 * <p>{@code LockEngine} starts, wires and ends the components, and {@code Acquirer} acquires. The rooms below hold the rest; each knows
 * only those below it.
 */
@NullMarked
package io.github.holdfast.service.engine;

import org.jspecify.annotations.NullMarked;
