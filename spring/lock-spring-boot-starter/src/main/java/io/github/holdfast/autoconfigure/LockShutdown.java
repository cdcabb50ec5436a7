package io.github.holdfast.autoconfigure;

import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.SmartLifecycle;

/**
 * Closes the lock services when the application stops, and opens them again if it is started again. It runs after the beans that
 * acquire locks have stopped, and before the beans that locks need.
 *
 * <ol>
 *   <li>Message listeners stop (phases near {@link #DEFAULT_PHASE}); the web server finishes its requests (1024 phases lower) and
 *       stops (2048 lower); the endpoints of Spring Integration stop (half of {@link #DEFAULT_PHASE}). Their work may still acquire
 *       new locks.
 *   <li>In this phase, waiters stop waiting. Holders may finish within the grace period, and may acquire other locks until its
 *       end. Then the service ends its node. The grace period does not count towards {@code
 *       spring.lifecycle.timeout-per-shutdown-phase}.
 *   <li>Lower phases follow. Then Spring destroys all beans, including the {@code EntityManagerFactory} and the pools.
 * </ol>
 *
 * <p>Spring interrupts scheduled and asynchronous tasks when the application begins to stop, and waits for none of them. With
 * {@code spring.task.scheduling.shutdown.await-termination}, it waits only in the last step, when it destroys beans. So such a
 * task, or a thread of the application's own, has only the grace period for its work under a lock. Set the grace period as long
 * as the termination period of those tasks. A {@code @PreDestroy} method runs without locks.
 */
final class LockShutdown implements SmartLifecycle {

    static final int PHASE = DEFAULT_PHASE / 2 - 4096;

    private final ConfigurableListableBeanFactory beans;
    private final Duration gracePeriod;
    private final Set<LockService> closed = ConcurrentHashMap.newKeySet();
    private volatile boolean running;

    LockShutdown(ConfigurableListableBeanFactory beans, HoldfastProperties.Shutdown properties) {
        this.beans = beans;
        this.gracePeriod = properties.gracePeriod();
        if (gracePeriod.isNegative() || gracePeriod.compareTo(LockRequest.LONGEST_DURATION) > 0) {
            throw new InvalidConfigurationPropertyValueException(
                    "holdfast.shutdown.grace-period",
                    gracePeriod,
                    "It must be from zero to " + new ReadableDuration(LockRequest.LONGEST_DURATION));
        }
    }

    @Override
    public void start() {
        running = true;
        closed.forEach(LockService::reopen);
        closed.clear();
    }

    @Override
    public void stop() {
        running = false;
        services().forEach(service -> {
            service.close(gracePeriod);
            closed.add(service);
        });
    }

    /**
     * Returns all existing lock services, including the application's own. It does not create an unused lazy service only to
     * close it.
     */
    private List<LockService> services() {
        return Arrays.stream(beans.getBeanNamesForType(LockService.class, false, false))
                .filter(beans::containsSingleton)
                .map(name -> beans.getBean(name, LockService.class))
                .toList();
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    /** Not pauseable. Spring pauses a context between two test classes, and a pause would end its locks. */
    @SuppressWarnings("MissingOverride") // Spring 6 pauses nothing
    public boolean isPauseable() {
        return false;
    }
}
