package io.github.holdfast.metrics;

import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Records the meters of a lock service, or of several together. {@code docs/operate/observability.md} lists them. Their tags contain the
 * {@link LockGroup} of a lock, never its name. Permits of a semaphore are counted like a lock: each grant counts as one, however many
 * permits it has. Thread-safe.
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

    /**
     * The number of holds of each grant. For a row lock, the next holder's event may come before the release event of the
     * previous holder.
     */
    private final Map<Held, Integer> held = new ConcurrentHashMap<>();

    private final CopyOnWriteArrayList<LockService> observed = new CopyOnWriteArrayList<>();

    /** By their names. */
    private final Map<String, CopyOnWriteArrayList<LeaderElection>> elections = new ConcurrentHashMap<>();

    private final Map<String, AtomicInteger> active = new ConcurrentHashMap<>();

    private record Held(String lockName, long fencingToken) {}

    private enum Counted {
        SUSPECT("holdfast.lock.suspect", "Held locks whose heartbeat was overdue"),
        TAKEN_OVER("holdfast.lock.takeover", "Takeovers of locks from dead or expired holders"),
        OVERTAKEN("holdfast.lock.conflict", "Lost races for a free lock"),
        DEFERRED("holdfast.lock.deferred", "Releases deferred until a transaction ends"),
        COMMIT_REFUSED("holdfast.commit.refused", "Transactions not committed because a lock was lost or not checked");

        private final String meter;
        private final String description;

        Counted(String meter, String description) {
            this.meter = meter;
            this.description = description;
        }
    }

    private LockMeters(MeterRegistry registry, LockGroup groups) {
        this.registry = registry;
        this.groups = groups;
    }

    /**
     * Returns a listener for lock services.
     *
     * @param groups maps locks to the groups of their meters
     */
    public static LockMeters of(MeterRegistry registry, LockGroup groups) {
        return new LockMeters(registry, groups);
    }

    /**
     * Registers the gauges that read the service itself: the numbers of waiters, of dropped and of kept locks, the age of its heartbeat, and
     * the step of the database's clock. They cost no statements. After calls for several services, a number is that of all of them, the age
     * is the greatest, and the step is the one farthest from zero.
     */
    public synchronized void observe(LockService locks) {
        boolean isFirst = observed.isEmpty();
        observed.addIfAbsent(locks);
        if (!isFirst) {
            // The gauges read this service too. Micrometer would warn of a second registration.
            return;
        }
        Gauge.builder("holdfast.lock.waiting", () -> sum(LockAdmin::waiting))
                .description("Acquisitions under way, most of them waiting")
                .strongReference(true)
                .register(registry);
        Gauge.builder("holdfast.lock.dropped", () -> sum(LockAdmin::dropped))
                .description("Locks and permits held although their handles were dropped without a release")
                .strongReference(true)
                .register(registry);
        Gauge.builder("holdfast.lock.kept", () -> sum(LockAdmin::kept))
                .description("Released locks that are kept for the next holder in this process")
                .strongReference(true)
                .register(registry);
        TimeGauge.builder("holdfast.heartbeat.age", this::heartbeatAge, TimeUnit.NANOSECONDS)
                .description("Time since the last confirmed heartbeat was sent; not a number without a living node")
                .strongReference(true)
                .register(registry);
        TimeGauge.builder("holdfast.clock.step", this::clockStep, TimeUnit.NANOSECONDS)
                .description(
                        "By how much the database's clock has parted from this process's clock within the last node lease; usually zero")
                .strongReference(true)
                .register(registry);
    }

    /**
     * Registers the gauge of an election: 1 while this node leads, and 0 otherwise. It costs no statements. After calls for several
     * elections of one name, it is 1 while one of them leads.
     */
    public synchronized void observe(LeaderElection election) {
        CopyOnWriteArrayList<LeaderElection> ofName =
                elections.computeIfAbsent(election.name(), name -> new CopyOnWriteArrayList<>());
        boolean isFirst = ofName.isEmpty();
        ofName.addIfAbsent(election);
        if (!isFirst) {
            return;
        }
        Gauge.builder("holdfast.leader", ofName, all -> all.stream().anyMatch(LeaderElection::isLeader) ? 1 : 0)
                .description("Whether this node leads the election")
                .tag("election", election.name())
                .strongReference(true)
                .register(registry);
    }

    private Stream<LockAdmin> admins() {
        return observed.stream().map(LockService::admin);
    }

    private int sum(ToIntFunction<LockAdmin> number) {
        return admins().mapToInt(number).sum();
    }

    private double clockStep() {
        return admins().map(LockAdmin::clockStep)
                .max(Comparator.comparing(Duration::abs))
                .orElse(Duration.ZERO)
                .toNanos();
    }

    private double heartbeatAge() {
        return admins().flatMap(admin -> admin.heartbeatAge().stream())
                .max(Comparator.naturalOrder())
                .map(age -> (double) age.toNanos())
                .orElse(Double.NaN);
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
        String description = "Acquisitions, from the call to the answer";
        timer("holdfast.lock.acquire", description, GROUP, groups.of(lockName), "outcome", outcome)
                .record(waited);
    }

    private Timer timer(String meter, String description, String... tags) {
        return Timer.builder(meter).description(description).tags(tags).register(registry);
    }

    @Override
    public void released(String lockName, long fencingToken, Duration heldFor, ReleaseOutcome outcome) {
        timer("holdfast.lock.held", "From the grant of a lock to its release", GROUP, groups.of(lockName))
                .record(heldFor);
        heldNoMore(lockName, fencingToken);
    }

    @Override
    public void lost(LockLost loss) {
        lost(groups.of(loss.lockName()), loss.cause()).increment();
        heldNoMore(loss.lockName(), loss.fencingToken());
    }

    private Counter lost(String group, LossCause cause) {
        String name = cause.name().toLowerCase(Locale.ROOT);
        return counter("holdfast.lock.lost", "Locks that were lost before their release", GROUP, group, "cause", name);
    }

    /** Counts the end of a hold only once, because a lost lock may be released afterwards. */
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
                    .description("Locks that are held; the permits of one grant count as one")
                    .tag(GROUP, group)
                    .register(registry);
            countersAtZero(group);
            return count;
        });
    }

    /**
     * Registers the counters at zero. Prometheus detects an increase only in a known series, and would otherwise miss the first
     * loss.
     */
    private void countersAtZero(String group) {
        for (Counted what : Counted.values()) {
            var unused = counter(group, what);
        }
        // If the connection of a row lock breaks, no event reports it.
        for (LossCause cause : EnumSet.complementOf(EnumSet.of(LossCause.DISCONNECTED))) {
            var unused = lost(group, cause);
        }
    }

    @Override
    public void suspect(String lockName, long fencingToken) {
        count(lockName, Counted.SUSPECT);
    }

    @Override
    public void takenOver(String lockName, long fencingToken, @Nullable String formerHolder) {
        count(lockName, Counted.TAKEN_OVER);
    }

    @Override
    public void overtaken(String lockName) {
        count(lockName, Counted.OVERTAKEN);
    }

    @Override
    public void deferred(String lockName, long fencingToken) {
        count(lockName, Counted.DEFERRED);
    }

    @Override
    public void commitRefused(String lockName) {
        count(lockName, Counted.COMMIT_REFUSED);
    }

    private void count(String lockName, Counted what) {
        counter(groups.of(lockName), what).increment();
    }

    private Counter counter(String group, Counted what) {
        return counter(what.meter, what.description, GROUP, group);
    }

    private Counter counter(String meter, String description, String... tags) {
        return Counter.builder(meter).description(description).tags(tags).register(registry);
    }

    @Override
    public void beaten(Duration took) {
        timer("holdfast.heartbeat", "Confirmed heartbeats, from sending one to the answer")
                .record(took);
    }
}
