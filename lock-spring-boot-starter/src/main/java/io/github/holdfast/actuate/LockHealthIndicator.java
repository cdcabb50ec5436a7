package io.github.holdfast.actuate;

import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.util.function.Supplier;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Up if the tables of the locks can be read: without them nobody is granted a lock. Tells how old the heartbeat is, and by
 * how much the database's clock is ahead of this machine's, which matters to nobody but people who compare logs. Two statements.
 * Thread-safe.
 */
public final class LockHealthIndicator extends AbstractHealthIndicator {

    /** Whether it is held matters to nobody; it is found by its key. */
    private static final String ANY_NAME = "holdfast:health";

    private final Supplier<LockService> locks;

    private LockHealthIndicator(Supplier<LockService> locks) {
        super("The tables of the locks cannot be read");
        this.locks = locks;
    }

    /**
     * Returns an indicator of a service's health.
     *
     * @param locks asked for the service at each check, not before: Spring Boot makes all indicators at start-up, also those of what
     *     is made lazily
     */
    public static LockHealthIndicator of(Supplier<LockService> locks) {
        return new LockHealthIndicator(locks);
    }

    @Override
    protected void doHealthCheck(Health.Builder health) {
        LockService service = locks.get();
        LockAdmin admin = service.admin();
        var unused = service.find(ANY_NAME);
        Instant before = Instant.now();
        Instant database = admin.databaseClock();
        Instant between = before.plus(Duration.between(before, Instant.now()).dividedBy(2));
        health.up()
                .withDetail("clockOffset", Duration.between(between, database).toString());
        admin.heartbeatAge().ifPresent(age -> health.withDetail("heartbeatAge", age.toString()));
    }
}
