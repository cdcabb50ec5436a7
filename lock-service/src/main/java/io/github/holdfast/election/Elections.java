package io.github.holdfast.election;

import io.github.holdfast.service.engine.LockEngine;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

/** The elections in which one lock service has a candidate. The service ends them with itself. For the lock service only. Thread-safe. */
public final class Elections implements AutoCloseable {

    /** A pattern of SQL, which the description of a leader fits. */
    public static final String HOLDER_OF_LEADER = "%/" + ElectionRequest.MARK + "%";

    private final LockEngine engine;
    private final Set<LeaderElection> underWay = ConcurrentHashMap.newKeySet();
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
        checkNotStopped();
        return new LeaderElection(engine, this, request);
    }

    private void checkNotStopped() {
        if (isStopped) {
            throw new IllegalStateException("The lock service is closed");
        }
    }

    /**
     * Keeps an election that gets a candidate.
     *
     * @throws IllegalStateException if the service is closed or being closed
     */
    void add(LeaderElection election) {
        underWay.add(election);
        // Either this thread sees the stop, or the stopping thread sees the election.
        if (isStopped) {
            underWay.remove(election);
            checkNotStopped();
        }
    }

    void remove(LeaderElection election) {
        underWay.remove(election);
    }

    /** Returns the names of the elections in which the service has a candidate. */
    public Set<String> names() {
        return underWay.stream().map(LeaderElection::name).collect(Collectors.toSet());
    }

    /** Returns whether this leader is a candidate of the service, and its leadership is not over. */
    public boolean isLeader(LeaderInfo leader) {
        return underWay.stream()
                .filter(election -> election.name().equals(leader.name()))
                .flatMap(election -> election.leadership().stream())
                .anyMatch(leadership -> leadership.term() == leader.term());
    }

    /** Lets all leaders resign, and all candidates give up. It does not wait for them. */
    public void stop() {
        isStopped = true;
        underWay.forEach(LeaderElection::stop);
    }

    /** Lets elections be created again, and those that the service has ended be started again. */
    public void reopen() {
        isStopped = false;
    }

    /** As {@link #stop}; waits for each election as {@link LeaderElection#close} does. */
    @Override
    public void close() {
        stop();
        underWay.forEach(LeaderElection::awaitEnd);
    }
}
