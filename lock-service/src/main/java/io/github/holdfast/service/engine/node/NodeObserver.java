package io.github.holdfast.service.engine.node;

import io.github.holdfast.entity.LockNode;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.repository.StoreException;
import io.github.holdfast.repository.rows.LockNodeRepository.Pulse;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.engine.runtime.Background;
import io.github.holdfast.service.engine.runtime.LogEvent;
import io.github.holdfast.service.engine.runtime.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Judges whether the node of another service is dead, so that the locks that it holds may be taken. There are two rules.
 *
 * <ol>
 *   <li>By the clock: the lease in the node's row is over. This holds where one server at a time writes, as long as its clock keeps the
 *       pace of the local one. Each read compares the two. If they part, the clock was set, or another server answers.
 *   <li>By observation: the version in the node's row has not changed for a whole lease, by the local clock, since the answer that showed it
 *       first. This compares no two clocks, only their rates. It always counts, and it alone where several servers write, and for one lease
 *       after the clock has parted from the local one. Kubernetes elects leaders by the same rule
 *       (https://pkg.go.dev/k8s.io/client-go/tools/leaderelection).
 * </ol>
 *
 * <p>An observation is safe because the holder counts its lease from before it sent the heartbeat that wrote this version, and the statement
 * that ends the node compares the version. The model of clocks in {@code verification/faults} checks both rules. Thread-safe.
 */
public final class NodeObserver {

    private static final Logger LOG = LoggerFactory.getLogger(NodeObserver.class);

    /** Since when a version is known, by the local clock. */
    private record Sight(long version, long since) {}

    /** What a read has shown of the database's clock, between two moments of the local one. */
    private record Reading(Instant dbNow, long sentAt, long answeredAt) {}

    /** By how much the database's clock was found to have parted from the local one, and when, by the local one. */
    private record Step(Duration by, long seenAt) {}

    /** How long a statement may take. It delays no heartbeat. */
    private static final Duration STATEMENT = Duration.ofSeconds(3);

    private final LockStore store;
    private final Background background;
    private final Ticker ticker;
    private final Duration lease;
    private final Duration tolerance;
    private final Map<String, Sight> sights = new ConcurrentHashMap<>();
    private final AtomicBoolean isReading = new AtomicBoolean();
    private volatile @Nullable String own;

    /** The local time of the last read of all nodes, or of the registration of the own one. */
    private volatile long observedAt;

    private @Nullable Reading last;

    /** The last step of the database's clock; null if none was found. */
    private volatile @Nullable Step step;

    /**
     * An observer that has seen no node.
     *
     * @param background reads all nodes
     * @param lease that of the own node, and of nodes whose row does not say it
     * @param tolerance by how much the database's clock may part from the local one, and how long a lease must be over by that clock
     */
    public NodeObserver(LockStore store, Background background, Ticker ticker, Duration lease, Duration tolerance) {
        this.store = store;
        this.background = background;
        this.ticker = ticker;
        this.lease = lease;
        this.tolerance = tolerance;
    }

    /** Notes which node is that of this service. The service itself judges that one. */
    void own(String id) {
        own = id;
        observedAt = ticker.nanoTime();
    }

    /**
     * Reads all nodes from time to time, and ends those whose heartbeats have stopped: the sooner a change of a version is seen, the
     * sooner a dead node is found. In the background, because a slow read must not make the next heartbeat late.
     */
    void observeIfDue() {
        long now = ticker.nanoTime();
        long interval = lease.toNanos() / (isObserving(lease) ? 9 : 3);
        if (now - observedAt >= interval && !isReading.getAndSet(true)) {
            observedAt = now;
            background.soon(this::observe);
        }
    }

    /** A failure only delays the observation. */
    private void observe() {
        long sentAt = ticker.nanoTime();
        try {
            List<Pulse> living =
                    store.inTransaction(STATEMENT, () -> store.nodes().living());
            observe(living, sentAt);
            silent(living).forEach(this::endSilent);
        } catch (StoreException failed) {
            LOG.debug("The nodes could not be read", failed);
        } finally {
            isReading.set(false);
        }
    }

    private void endSilent(Pulse silent) {
        try {
            int unused = store.inTransaction(STATEMENT, () -> store.nodes().endSilent(silent.id(), silent.version()));
        } catch (StoreException failed) {
            LOG.debug("Node {} could not be ended", silent.id(), failed);
        }
    }

    /**
     * Notes a read of all nodes that have not ended.
     *
     * @param sentAt the local time before the read was sent
     */
    void observe(List<Pulse> living, long sentAt) {
        long now = ticker.nanoTime();
        living.stream().findFirst().ifPresent(any -> compare(any.dbNow(), sentAt, now));
        living.forEach(node -> note(node.id(), node.version(), now));
        sights.keySet().retainAll(living.stream().map(Pulse::id).collect(Collectors.toSet()));
    }

    /** Returns those of the nodes that are dead by observation; none where the clock has decided for a while. */
    List<Pulse> silent(List<Pulse> living) {
        return living.stream()
                .filter(node -> !node.id().equals(own))
                .filter(node -> isSilent(node.id(), node.version(), leaseOf(node.leaseMillis()))
                        && isObserving(leaseOf(node.leaseMillis())))
                .toList();
    }

    /**
     * Returns a judgement of nodes that one read has shown: whether a node is dead. It is about nodes that have not been ended, and the
     * own node is never dead.
     *
     * @param dbNow the database's clock in that read
     * @param sentAt the local time before the read was sent
     */
    public Predicate<LockNode> judgement(Instant dbNow, long sentAt) {
        return node -> isDead(node, dbNow, sentAt);
    }

    private boolean isDead(LockNode node, Instant dbNow, long sentAt) {
        long now = ticker.nanoTime();
        compare(dbNow, sentAt, now);
        note(node.id(), node.version(), now);
        if (node.id().equals(own)) {
            return false;
        }
        Duration itsLease = leaseOf(node.lease().toMillis());
        return isSilent(node.id(), node.version(), itsLease)
                || (isTrusted(itsLease) && !node.expiresAt().isAfter(dbNow.minus(tolerance)));
    }

    /**
     * Ends a node that was found dead, unless it has beaten since. Call it in a transaction.
     *
     * @return whether this has ended it
     * @throws io.github.holdfast.repository.StoreException if the database failed
     */
    public boolean end(LockNode dead) {
        Duration itsLease = leaseOf(dead.lease().toMillis());
        if (isSilent(dead.id(), dead.version(), itsLease)) {
            return store.nodes().endSilent(dead.id(), dead.version()) == 1;
        }
        return isTrusted(itsLease) && store.nodes().endIfOverdue(dead.id(), tolerance);
    }

    /**
     * Reads a node, and ends it if it is dead. Call it in a transaction.
     *
     * @return whether this has ended it
     */
    public boolean endIfDead(String id) {
        long sentAt = ticker.nanoTime();
        return store.nodes()
                .read(id)
                .filter(seen -> !seen.node().isEnded() && isDead(seen.node(), seen.dbNow(), sentAt))
                .map(seen -> end(seen.node()))
                .orElse(false);
    }

    /** Returns by how much the database's clock has parted from the local one, as long as that matters; otherwise zero. */
    public Duration clockStep() {
        Step found = step;
        return found != null && hasPartedWithin(observation(lease)) ? found.by() : Duration.ZERO;
    }

    /** Whether the database's clock decides. */
    boolean isClockTrusted() {
        return isTrusted(lease);
    }

    private boolean isTrusted(Duration itsLease) {
        return store.severalWriters().isEmpty() && !hasPartedWithin(observation(itsLease));
    }

    /** Whether heartbeats end silent nodes: twice as long, for what is first seen when the clock has just parted. */
    private boolean isObserving(Duration itsLease) {
        return store.severalWriters().isPresent() || hasPartedWithin(2 * observation(itsLease));
    }

    private boolean hasPartedWithin(long nanos) {
        Step found = step;
        return found != null && ticker.nanoTime() - found.seenAt() <= nanos;
    }

    private boolean isSilent(String id, long version, Duration itsLease) {
        Sight sight = sights.get(id);
        return sight != null
                && sight.version() == version
                && ticker.nanoTime() - sight.since() >= observation(itsLease);
    }

    /** The lease, and the margin for the drift of the clocks, which the holder subtracts and the observer adds. */
    private static long observation(Duration itsLease) {
        return itsLease.toNanos() + itsLease.toNanos() / Ticker.MARGIN_PARTS;
    }

    private Duration leaseOf(long millis) {
        return millis == 0 ? lease : Duration.ofMillis(millis);
    }

    private void note(String id, long version, long now) {
        sights.compute(
                id, (same, sight) -> sight != null && sight.version() == version ? sight : new Sight(version, now));
    }

    /** Compares the progress of the database's clock with that of the local one since the last read. */
    private synchronized void compare(Instant dbNow, long sentAt, long answeredAt) {
        Reading before = last;
        if (before != null && answeredAt - before.answeredAt() < 0) {
            return;
        }
        last = new Reading(dbNow, sentAt, answeredAt);
        if (before == null || !ticker.keepsPace() || store.severalWriters().isPresent()) {
            return;
        }
        long passed = Duration.between(before.dbNow(), dbNow).toNanos();
        long least = sentAt - before.answeredAt();
        long most = answeredAt - before.sentAt();
        long slack = tolerance.toNanos() + Math.max(0, most) / Ticker.MARGIN_PARTS;
        if (passed > most + slack || passed < least - slack) {
            parted(Duration.ofNanos(passed), Duration.ofNanos(most));
        }
    }

    private void parted(Duration passed, Duration locally) {
        boolean isNews = isTrusted(lease);
        step = new Step(passed.minus(locally), ticker.nanoTime());
        if (isNews) {
            LogEvent.DATABASE_CLOCK_PARTED
                    .in(LOG.atWarn())
                    .log(
                            "The database's clock has moved by {} while this process's clock has moved by {}: it was set, another server"
                                    + " answers, or this process was suspended. For {}, the locks of a node are only taken if its"
                                    + " heartbeats are seen to have stopped. Leases end by the database's clock as it is now",
                            new ReadableDuration(passed),
                            new ReadableDuration(locally),
                            new ReadableDuration(lease));
        }
    }
}
