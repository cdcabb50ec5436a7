/**
 * Leader election: one node of all leads until it resigns, dies or loses its lock.
 *
 * <p>{@link io.github.holdfast.service.LockService#election} returns a {@link io.github.holdfast.election.LeaderElection} for an {@link
 * io.github.holdfast.election.ElectionRequest}. It calls the {@link io.github.holdfast.election.LeaderCallbacks} when a leadership
 * begins and ends.
 */
@NullMarked
package io.github.holdfast.election;

import org.jspecify.annotations.NullMarked;
