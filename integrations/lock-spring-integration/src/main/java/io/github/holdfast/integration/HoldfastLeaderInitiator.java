package io.github.holdfast.integration;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.service.LockService;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ApplicationEventPublisherAware;
import org.springframework.context.SmartLifecycle;
import org.springframework.integration.leader.Candidate;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.event.DefaultLeaderEventPublisher;
import org.springframework.integration.leader.event.LeaderEventPublisher;

/**
 * Takes part in an {@linkplain LeaderElection election} of Holdfast for a candidate of Spring Integration. It notifies the candidate and
 * the listeners of Spring Integration's leader events, as {@code LockRegistryLeaderInitiator} does. But a leader costs no statement, and
 * the next one follows a resignation within milliseconds. Thread-safe.
 *
 * <pre>{@code
 * @Bean
 * HoldfastLeaderInitiator leader(LockService locks) {
 *     return HoldfastLeaderInitiator.of(locks, new DefaultCandidate("10.0.0.7:8080", "importer"));
 * }
 * }</pre>
 *
 * <p>One thread calls the candidate and publishes the events, with the exception that {@link LeaderCallbacks} describes. It publishes no
 * {@code OnFailedToAcquireMutexEvent}, because a candidate waits, and no {@code OnGrantedEvent} if {@link Candidate#onGranted} returns after
 * the end of the leadership. An exception of a listener is logged, and does not end the leadership. The initiator is started and stopped
 * with the application context.
 */
public final class HoldfastLeaderInitiator implements SmartLifecycle, DisposableBean, ApplicationEventPublisherAware {

    private static final Logger LOG = LoggerFactory.getLogger(HoldfastLeaderInitiator.class);

    /** That of Spring Integration's own initiators: it starts late and stops early. */
    private static final int PHASE = Integer.MAX_VALUE - 1000;

    private final LockService locks;
    private final ElectionRequest request;
    private final Candidate candidate;
    private final Context context = new ElectionContext();
    private volatile LeaderEventPublisher publisher = new DefaultLeaderEventPublisher();
    private volatile @Nullable LeaderElection election;

    private HoldfastLeaderInitiator(LockService locks, ElectionRequest request, Candidate candidate) {
        this.locks = Objects.requireNonNull(locks, "locks");
        this.request = request;
        this.candidate = candidate;
    }

    /**
     * Returns an initiator for an election with the name of the candidate's role. The others see the candidate's id as the leader.
     *
     * @param locks not null
     * @param candidate not null
     * @throws IllegalArgumentException if the role is no valid {@linkplain ElectionRequest#of name}, or the id no valid {@linkplain
     *     ElectionRequest#candidate candidate}
     */
    public static HoldfastLeaderInitiator of(LockService locks, Candidate candidate) {
        return of(locks, candidate, ElectionRequest.of(candidate.getRole()).candidate(candidate.getId()));
    }

    /**
     * Returns an initiator for an election of your choice.
     *
     * @param locks not null
     * @param candidate not null
     * @param request not null; its name may differ from the candidate's role
     */
    public static HoldfastLeaderInitiator of(LockService locks, Candidate candidate, ElectionRequest request) {
        return new HoldfastLeaderInitiator(
                locks, Objects.requireNonNull(request, "request"), Objects.requireNonNull(candidate, "candidate"));
    }

    /** Returns the context that the candidate gets: whether it leads, and a way to yield. */
    public Context getContext() {
        return context;
    }

    /** Publishes the leader events with this publisher, instead of the application context's. */
    public void setLeaderEventPublisher(LeaderEventPublisher publisher) {
        this.publisher = Objects.requireNonNull(publisher, "publisher");
    }

    @Override
    public void setApplicationEventPublisher(ApplicationEventPublisher events) {
        if (publisher instanceof DefaultLeaderEventPublisher usual) {
            usual.setApplicationEventPublisher(events);
        }
    }

    /** Begins to take part in the election. Does nothing if it already does. */
    @Override
    public synchronized void start() {
        if (election == null) {
            LeaderElection begun = locks.election(request);
            // Before the start, because the candidate may ask at once.
            election = begun;
            try {
                begun.start(new CandidateCallbacks());
            } catch (RuntimeException | Error failed) {
                election = null;
                throw failed;
            }
        }
    }

    /** Resigns, and ends the candidacy. It waits until the candidate has returned, but for 2 seconds at most. */
    @Override
    public void stop() {
        LeaderElection ending = takeElection();
        if (ending != null) {
            ending.close();
        }
    }

    private synchronized @Nullable LeaderElection takeElection() {
        LeaderElection ending = election;
        election = null;
        return ending;
    }

    @Override
    public boolean isRunning() {
        return election != null;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    @Override
    public void destroy() {
        stop();
    }

    /** What the candidate can ask and do. */
    private final class ElectionContext implements Context {

        @Override
        public boolean isLeader() {
            LeaderElection current = election;
            return current != null && current.isLeader();
        }

        @Override
        public void yield() {
            LeaderElection current = election;
            if (current != null) {
                current.resign();
            }
        }

        @Override
        public String getRole() {
            return candidate.getRole();
        }

        @Override
        public String toString() {
            return "Context[role=" + getRole() + ", id=" + candidate.getId() + ", isLeader=" + isLeader() + "]";
        }
    }

    /** Notifies the candidate first, and then the listeners. */
    private final class CandidateCallbacks implements LeaderCallbacks {

        @Override
        public void onGranted(Leadership leadership) throws InterruptedException {
            candidate.onGranted(context);
            // A candidate that does the leader's work in this call returns after the end, perhaps even after the
            // revocation.
            if (context.isLeader()) {
                publish(() -> publisher.publishOnGranted(HoldfastLeaderInitiator.this, context, candidate.getRole()));
            }
        }

        @Override
        public void onRevoked(Leadership leadership, RevocationCause cause) {
            try {
                candidate.onRevoked(context);
            } finally {
                publish(() -> publisher.publishOnRevoked(HoldfastLeaderInitiator.this, context, candidate.getRole()));
            }
        }

        /** Notifies the listeners. A failure of theirs does not end the leadership: only the candidate decides whether it can lead. */
        private void publish(Runnable event) {
            try {
                event.run();
            } catch (RuntimeException failed) {
                LOG.warn("A listener of the leader events of role '{}' failed", candidate.getRole(), failed);
            }
        }
    }
}
