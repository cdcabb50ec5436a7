package io.github.holdfast.autoconfigure.election;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderCallbacks;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.election.RevocationCause;
import io.github.holdfast.event.LeadershipGrantedEvent;
import io.github.holdfast.event.LeadershipRevokedEvent;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.SmartLifecycle;

/**
 * Starts the elections after all other components, so that a leader finds an application that works. It does not stop them: {@code
 * LockShutdown} closes their lock service, and that lets the leaders resign within its grace period. By then, the components that rely on
 * the leadership have stopped.
 */
public final class ElectionStarter implements SmartLifecycle {

    private final ConfigurableListableBeanFactory beans;
    private final ApplicationEventPublisher events;
    private volatile boolean running;

    public ElectionStarter(ConfigurableListableBeanFactory beans, ApplicationEventPublisher events) {
        this.beans = beans;
        this.events = events;
    }

    @Override
    public void start() {
        running = true;
        for (String request : beans.getBeanNamesForType(ElectionRequest.class, true, false)) {
            beans.getBean(ElectionBeans.nameFor(request), LeaderElection.class).start(new Publishing(events));
        }
    }

    @Override
    public void stop() {
        running = false;
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return DEFAULT_PHASE;
    }

    /** Not pauseable, as {@code LockShutdown} is not. */
    @SuppressWarnings("MissingOverride") // Spring 6 pauses nothing
    public boolean isPauseable() {
        return false;
    }

    /** Publishes the events of an election. */
    private record Publishing(ApplicationEventPublisher events) implements LeaderCallbacks {

        @Override
        public void onGranted(Leadership leadership) {
            events.publishEvent(new LeadershipGrantedEvent(leadership));
        }

        @Override
        public void onRevoked(Leadership leadership, RevocationCause cause) {
            events.publishEvent(new LeadershipRevokedEvent(leadership, cause));
        }
    }
}
