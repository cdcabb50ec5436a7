package io.github.holdfast.election;

import io.github.holdfast.service.engine.LockEngine;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The elections of one lock service, which ends them with itself. For the lock service only. Thread-safe. */
public final class Elections implements AutoCloseable {

    private final LockEngine engine;
    private final Set<LeaderElection> elections = ConcurrentHashMap.newKeySet();
    private volatile boolean isStopped;

    private Elections(LockEngine engine) {
        this.engine = engine;
    }

    /** Returns the elections of a service, of which there are none yet. */
    public static Elections of(LockEngine engine) {
        return new Elections(engine);
    }

    /**
     * Creates an election.
     *
     * @throws IllegalStateException if the service is closed or being closed
     */
    public LeaderElection election(ElectionRequest request) {
        elections.removeIf(LeaderElection::isClosed);
        LeaderElection election = new LeaderElection(engine, request);
        elections.add(election);
        // Either this thread sees the stop, or the stopping thread sees the election.
        if (isStopped) {
            election.stop();
            throw new IllegalStateException("The lock service is closed");
        }
        return election;
    }

    /** Lets all leaders resign, and all candidates give up. It does not wait for them. */
    public void stop() {
        isStopped = true;
        elections.forEach(LeaderElection::stop);
    }

    /** As {@link #stop}; waits for each election as {@link LeaderElection#close} does. */
    @Override
    public void close() {
        stop();
        elections.forEach(LeaderElection::awaitEnd);
        elections.clear();
    }
}
