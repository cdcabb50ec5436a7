package io.github.holdfast.event;

import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;

/**
 * This node no longer leads an election that is a bean. It follows each {@link LeadershipGrantedEvent} once, as {@link
 * LeaderCallbacks#onRevoked} follows {@link LeaderCallbacks#onGranted}.
 *
 * @param leadership the leadership that has ended
 * @param cause why it has ended
 */
public record LeadershipRevokedEvent(Leadership leadership, RevocationCause cause) {

    /** Returns the name of the election. */
    public String election() {
        return leadership.name();
    }
}
