package io.github.holdfast.autoconfigure;

import io.github.holdfast.service.LockRequest;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.SmartLifecycle;

/**
 * Closes the lock services when the application stops: after what takes locks, before what locks need.
 *
 * <ol>
 *   <li>Message listeners stop (phases near {@link #DEFAULT_PHASE}); the web server finishes its requests (1024 phases lower) and
 *       stops (2048 lower). Their work may still acquire locks.
 *   <li>This phase: whoever waits for a lock stops waiting, whoever holds one may finish within the grace period, and may acquire
 *       others until then; then the node is ended. The grace period does not count into {@code
 *       spring.lifecycle.timeout-per-shutdown-phase}.
 *   <li>Lower phases, and all beans are destroyed: the {@code EntityManagerFactory} and the pools, too.
 * </ol>
 *
 * <p>Spring interrupts scheduled and asynchronous tasks when the application begins to stop and waits for none of them, or with
 * {@code spring.task.scheduling.shutdown.await-termination} waits while beans are destroyed, the last step. So what such a task,
 * or a thread of the application's own, does under a lock has the grace period: give it as long as those tasks have. What a
 * {@code @PreDestroy} method does is done without locks.
 */
final class LockShutdown implements SmartLifecycle {

    static final int PHASE = DEFAULT_PHASE - 4096;

    private final ConfigurableListableBeanFactory beans;
    private final Duration gracePeriod;
    private volatile boolean running;

    LockShutdown(ConfigurableListableBeanFactory beans, HoldfastProperties.Shutdown properties) {
        this.beans = beans;
        this.gracePeriod = properties.gracePeriod();
        if (gracePeriod.isNegative() || gracePeriod.compareTo(LockRequest.LONGEST_DURATION) > 0) {
            throw new InvalidConfigurationPropertyValueException(
                    "holdfast.shutdown.grace-period",
                    gracePeriod,
                    "It must be from zero to " + LockRequest.LONGEST_DURATION);
        }
    }

    @Override
    public void start() {
        running = true;
    }

    @Override
    public void stop() {
        running = false;
        services().forEach(service -> service.close(gracePeriod));
    }

    /** Those that were made, of the application too; a lazy one that nobody wanted is not made to be closed. */
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

    /** A context that is paused, as between two test classes, goes on later, which a closed service cannot. */
    @Override
    public boolean isPauseable() {
        return false;
    }
}
