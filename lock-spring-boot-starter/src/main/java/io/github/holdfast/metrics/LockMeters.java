package io.github.holdfast.metrics;

import io.github.holdfast.service.LockListener;
import io.github.holdfast.service.LockLost;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.ReleaseOutcome;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Records what one lock service does. The meters are listed in {@code docs/observability.md}; none is tagged with the name of a
 * lock, only with its {@link LockGroup}. Thread-safe.
 *
 * <pre>{@code
 * LockMeters meters = LockMeters.of(registry, LockGroup.byPrefix());
 * LockService locks = LockService.builder(entityManagerFactory).listener(meters).build();
 * meters.observe(locks);
 * }</pre>
 */
public final class LockMeters implements LockListener {

    private static final String GROUP = "group";

    private final MeterRegistry registry;
    private final LockGroup groups;

    /** How often each grant is held: of a row lock, the next holder may be told of before the last one's release. */
    private final Map<Held, Integer> held = new ConcurrentHashMap<>();

    private final Map<String, AtomicInteger> active = new ConcurrentHashMap<>();

    private record Held(String lockName, long fencingToken) {}

    private LockMeters(MeterRegistry registry, LockGroup groups) {
        this.registry = registry;
        this.groups = groups;
    }

    /**
     * Returns a listener for one lock service.
     *
     * @param groups under which locks are counted
     */
    public static LockMeters of(MeterRegistry registry, LockGroup groups) {
        return new LockMeters(registry, groups);
    }

    /** Registers the gauges that ask the service itself: how many wait, and how old its heartbeat is. They ask no database. */
    public void observe(LockService locks) {
        Gauge.builder("holdfast.lock.waiting", locks, service -> service.admin().waiting())
                .description("Acquisitions under way, most of them waiting")
                .strongReference(true)
                .register(registry);
        TimeGauge.builder("holdfast.heartbeat.age", locks, TimeUnit.NANOSECONDS, LockMeters::heartbeatAge)
                .description("Time since the last confirmed heartbeat was sent; not a number if no node lives")
                .strongReference(true)
                .register(registry);
    }

    private static double heartbeatAge(LockService locks) {
        return locks.admin().heartbeatAge().map(age -> (double) age.toNanos()).orElse(Double.NaN);
    }

    @Override
    public void acquired(String lockName, long fencingToken, Duration waited) {
        acquire(lockName, "acquired", waited);
        held.merge(new Held(lockName, fencingToken), 1, Integer::sum);
        active(lockName).incrementAndGet();
    }

    @Override
    public void refused(String lockName, Duration waited) {
        acquire(lockName, "refused", waited);
    }

    @Override
    public void failed(String lockName, Duration waited, Exception cause) {
        acquire(lockName, cause instanceof InterruptedException ? "interrupted" : "failed", waited);
    }

    private void acquire(String lockName, String outcome, Duration waited) {
        Timer.builder("holdfast.lock.acquire")
                .description("Acquisitions, from the call to the answer")
                .tag(GROUP, groups.of(lockName))
                .tag("outcome", outcome)
                .register(registry)
                .record(waited);
    }

    @Override
    public void released(String lockName, long fencingToken, Duration heldFor, ReleaseOutcome outcome) {
        Timer.builder("holdfast.lock.held")
                .description("From the grant of a lock to its release")
                .tag(GROUP, groups.of(lockName))
                .register(registry)
                .record(heldFor);
        heldNoMore(lockName, fencingToken);
    }

    @Override
    public void lost(LockLost loss) {
        Counter.builder("holdfast.lock.lost")
                .description("Locks that were lost before their release")
                .tag(GROUP, groups.of(loss.lockName()))
                .tag("cause", loss.cause().name().toLowerCase(Locale.ROOT))
                .register(registry)
                .increment();
        heldNoMore(loss.lockName(), loss.fencingToken());
    }

    /** A lock that is lost may be released afterwards: it counts once. */
    private void heldNoMore(String lockName, long fencingToken) {
        held.computeIfPresent(new Held(lockName, fencingToken), (key, times) -> {
            active(lockName).decrementAndGet();
            return times == 1 ? null : times - 1;
        });
    }

    private AtomicInteger active(String lockName) {
        return active.computeIfAbsent(groups.of(lockName), group -> {
            AtomicInteger count = new AtomicInteger();
            Gauge.builder("holdfast.lock.active", count, AtomicInteger::get)
                    .description("Locks that are held")
                    .tag(GROUP, group)
                    .register(registry);
            return count;
        });
    }

    @Override
    public void suspect(String lockName, long fencingToken) {
        count("holdfast.lock.suspect", "Held locks whose heartbeat was overdue", lockName);
    }

    @Override
    public void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {
        count("holdfast.lock.takeover", "Locks acquired that a dead or expired holder had left", lockName);
    }

    @Override
    public void overtaken(String lockName) {
        count("holdfast.lock.conflict", "Races for a free lock that somebody else won", lockName);
    }

    @Override
    public void deferred(String lockName, long fencingToken) {
        count("holdfast.lock.deferred", "Releases put off until a transaction ends", lockName);
    }

    @Override
    public void commitRefused(String lockName) {
        count("holdfast.commit.refused", "Transactions not committed because a lock was lost or not checked", lockName);
    }

    private void count(String meter, String description, String lockName) {
        Counter.builder(meter)
                .description(description)
                .tag(GROUP, groups.of(lockName))
                .register(registry)
                .increment();
    }

    @Override
    public void beaten(Duration took) {
        Timer.builder("holdfast.heartbeat")
                .description("Confirmed heartbeats, from sending one to the answer")
                .register(registry)
                .record(took);
    }
}
