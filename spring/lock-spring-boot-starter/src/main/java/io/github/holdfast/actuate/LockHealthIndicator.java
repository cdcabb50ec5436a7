package io.github.holdfast.actuate;

import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * A health indicator for locks. It is up if the lock tables can be read, because every grant needs them. Its details are the age
 * of the heartbeat, the lead of the database's clock over this machine's clock, and for each election whether this node leads. The
 * lead of the clock matters only when you compare logs.
 * Two statements. Thread-safe.
 */
public final class LockHealthIndicator extends AbstractHealthIndicator {

    /** The name of a lock to look up by its key. Whether the lock is held does not matter. */
    private static final String ANY_NAME = "holdfast:health";

    private final Supplier<LockService> locks;
    private final Supplier<Stream<LeaderElection>> elections;

    private LockHealthIndicator(Supplier<LockService> locks, Supplier<Stream<LeaderElection>> elections) {
        super("The lock tables cannot be read");
        this.locks = locks;
        this.elections = elections;
    }

    /**
     * Returns the health indicator of a service.
     *
     * @param locks supplies the service; called only by a check. Spring Boot creates all indicators at start-up, including those
     *     of lazy beans
     */
    public static LockHealthIndicator of(Supplier<LockService> locks) {
        return of(locks, Stream::empty);
    }

    /**
     * Returns the health indicator of a service and its elections.
     *
     * @param locks as for {@link #of(Supplier)}
     * @param elections supplies the elections whose state is a detail; called only by a check
     */
    public static LockHealthIndicator of(Supplier<LockService> locks, Supplier<Stream<LeaderElection>> elections) {
        return new LockHealthIndicator(locks, elections);
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
        Map<String, Boolean> isLeader = elections
                .get()
                .collect(Collectors.toMap(
                        LeaderElection::name, LeaderElection::isLeader, Boolean::logicalOr, TreeMap::new));
        if (!isLeader.isEmpty()) {
            health.withDetail("isLeader", isLeader);
        }
    }
}
