/**
 * Leader election: one node of all leads until it resigns, dies or loses its lock.
 *
 * <p>{@link io.github.holdfast.service.LockService#election} returns a {@link io.github.holdfast.election.LeaderElection} for an {@link
 * io.github.holdfast.election.ElectionRequest}. {@code Candidate} waits for the lock of the election. {@code Term} is one leadership, which
 * calls the {@link io.github.holdfast.election.LeaderCallbacks}.
 */
@NullMarked
package io.github.holdfast.election;

import org.jspecify.annotations.NullMarked;
