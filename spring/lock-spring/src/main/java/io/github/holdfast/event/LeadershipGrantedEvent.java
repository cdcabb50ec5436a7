package io.github.holdfast.event;

import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.Leadership;

/**
 * This node leads an election that is a bean. The thread of the election publishes the event, and calls the listeners. A listener has the
 * rights and duties of {@link LeaderCallbacks#onGranted}: its transactions are fenced, and it is interrupted when the leadership ends. If it
 * throws an exception, the node resigns.
 *
 * @param leadership says how long the leadership lasts
 */
public record LeadershipGrantedEvent(Leadership leadership) {

    /** Returns the name of the election. */
    public String election() {
        return leadership.name();
    }
}
