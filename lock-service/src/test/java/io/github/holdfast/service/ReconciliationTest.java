package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.WatchedDataSource.Then;
import io.github.holdfast.service.engine.node.Heartbeat;
import io.github.holdfast.service.engine.runtime.JumpingTicker;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Rows that a living node holds for nobody, because an answer was lost, are freed; those that somebody holds are not. */
@Tag("outage")
@OnEachDatabase
class ReconciliationTest {

    /** Long enough for a pool that lost its connections, and waits before it opens others. */
    private static final Duration NODE_LEASE = ofSeconds(5);

    /** After so many beats a node looks after its rows in any case. */
    private static final int RECONCILE_EVERY = 6;

    private static final Duration SOON = ofSeconds(60);

    private final ExecutorService threads = Executors.newCachedThreadPool(Daemons.named("contender"));
    private Database database;
    private Services services;
    private LockStore store;
    private LockService theirs;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
        store = LockStore.open(services.unit(database.pool(pool -> pool.setMaximumPoolSize(2))));
        theirs = services.build(builder -> builder.nodeLease(NODE_LEASE));
    }

    @AfterEach
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    private LockService service(FaultyDataSource faults, Duration nodeLease) {
        return services.build(services.poolOver(faults), builder -> builder.nodeLease(nodeLease));
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name);
    }

    private LockEntity row(String name) {
        return store.inTransaction(SOON, (TransactionalLockRows locks) -> locks.read(name))
                .orElseThrow()
                .row();
    }

    private String nodeOf(String name) {
        return Objects.requireNonNull(row(name).nodeId(), "it is held through a node");
    }

    private long version(String nodeId) {
        return database.queryForLong("select version from lock_node where id = '" + nodeId + "'");
    }

    /** Whoever breaks a connection at a step then has a while until the heartbeat makes steps of its own. */
    private void awaitBeat(String nodeId) {
        long before = version(nodeId);
        await().pollInterval(ofMillis(5)).atMost(SOON).until(() -> version(nodeId) > before);
    }

    private void awaitFree(String name) {
        await(name)
                .pollInterval(ofMillis(20))
                .atMost(SOON)
                .until(() -> row(name).owner() == null && theirs.find(name).isEmpty());
    }

    /** Before the node has made so many more beats that it would have looked after its rows in any case. */
    private void awaitFreeEarly(String name, String nodeId) {
        Set<Long> beats = new HashSet<>();
        await(name).pollInterval(ofMillis(20)).atMost(SOON).until(() -> {
            beats.add(version(nodeId));
            return row(name).owner() == null && theirs.find(name).isEmpty();
        });
        assertThat(beats).hasSizeLessThanOrEqualTo(RECONCILE_EVERY);
    }

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    private static <T> T join(Future<T> future) {
        try {
            return get(future);
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }

    /**
     * A reconciliation begins while a lock is acquired, so the hold looks at its row itself, and has no answer. Without another look, a
     * heartbeat does not prolong it.
     */
    @Test
    void aHoldThatAReconciliationMayHaveMissedIsRenewed() throws Exception {
        JumpingTicker ticker = new JumpingTicker();
        WatchedDataSource watched = new WatchedDataSource(services.opened(database.pool(pool -> {})));
        LockService mine = services.build(
                watched, builder -> Services.adjusted(builder.nodeLease(ofMinutes(30)), ticker.inSettings()));
        LockHandle keeper = mine.acquire(request("keeper"));
        mine.acquire(request("missed")).close();
        watched.beforeNext("update distributed_lock", () -> {
            LockHandle unused = join(threads.submit(() -> {
                database.execute("update lock_node set version = version + 1 where id = '" + nodeOf("keeper") + "'");
                keeper.renew(ofSeconds(1));
                return keeper;
            }));
            watched.beforeNext("from distributed_lock", () -> watched.failNext("prepareStatement", Then.GOES_ON));
        });

        LockHandle lock = mine.acquire(request("missed"));
        ticker.jump(ofMinutes(10));
        lock.ensureValidFor(ofMinutes(25));

        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        keeper.close();
    }

    @Test
    void anAcquisitionThatLandsAfterItsCallerGaveUpIsUndone() throws Exception {
        // Of an owner that was made for it, any row is nobody's; one that was chosen may be another thread's.
        Future<?> made = threads.submit(lateAcquisition(request("late")));
        Future<?> chosen = threads.submit(lateAcquisition(request("late-chosen").owner("chosen")));
        get(made);
        get(chosen);
    }

    private Callable<Void> lateAcquisition(LockRequest request) {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockService mine = service(faults, NODE_LEASE);
        return () -> {
            String keeper = "keeper of " + request.name();
            LockHandle kept = mine.tryAcquire(request(keeper)).orElseThrow();
            theirs.tryAcquire(request).orElseThrow().close();
            awaitBeat(nodeOf(keeper));
            // A read and the grant.
            faults.armThisThread(2, Fault.DELAYED);
            assertThatExceptionOfType(LockStoreException.class).isThrownBy(() -> mine.tryAcquire(request));
            assertThat(faults.fired()).isTrue();
            faults.disarm();
            faults.land();
            awaitFree(request.name());
            assertThat(kept.release()).isEqualTo(ReleaseOutcome.RELEASED);
            return null;
        };
    }

    @Test
    void aReleaseThatFailedIsDoneSoonAfterTheReturnOfTheDatabase() throws Exception {
        // It goes on for longer than a release tries.
        Duration nodeLease = ofSeconds(12);
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockService mine = service(faults, nodeLease);
        LockHandle made = mine.tryAcquire(request("released")).orElseThrow();
        LockHandle chosen =
                mine.tryAcquire(request("released-chosen").owner("chosen")).orElseThrow();
        LockHandle kept = mine.tryAcquire(request("released-not")).orElseThrow();
        String nodeId = nodeOf("released-not");
        faults.down();
        Future<ReleaseOutcome> other = threads.submit(chosen::release);
        assertThat(made.release()).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertThat(get(other)).isEqualTo(ReleaseOutcome.UNRESOLVED);
        assertThat(row("released").owner()).isEqualTo(made.owner());
        assertThat(row("released-chosen").owner()).isEqualTo("chosen");
        faults.up();
        awaitFreeEarly("released", nodeId);
        awaitFreeEarly("released-chosen", nodeId);
        await().atMost(SOON).until(() -> kept.state() == LockState.HELD);
        assertThat(kept.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aRowThatTheNodeHoldsForNobodyIsFreedAfterSomeBeatsOrWhenTheDatabaseIsBack() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockService mine = service(faults, NODE_LEASE);
        List<LockHandle> living = List.of(
                mine.tryAcquire(request("living")).orElseThrow(),
                mine.tryAcquire(request("living-nested")).orElseThrow(),
                mine.tryAcquire(request("living-nested")).orElseThrow(),
                mine.tryAcquire(request("living-chosen").owner("chosen")).orElseThrow(),
                mine.tryAcquire(request("living-leased").lease(ofSeconds(60))).orElseThrow());
        String nodeId = nodeOf("living");
        orphan("orphan", nodeId);
        awaitFree("orphan");

        // An acquisition in the name of an owner that others may use too counts as failed when it is not answered.
        theirs.tryAcquire(request("unanswered")).orElseThrow().close();
        awaitBeat(nodeId);
        faults.armThisThread(2, Fault.ANSWER_LOST);
        assertThatExceptionOfType(LockStoreException.class)
                .isThrownBy(() -> mine.tryAcquire(request("unanswered").owner("chosen")));
        faults.disarm();
        orphan("orphan", nodeId);
        // Not for a time: on a busy machine, no beat may be due meanwhile.
        try (CapturedLog log = CapturedLog.of(Heartbeat.class)) {
            faults.down();
            await().atMost(SOON).until(() -> !log.lines().isEmpty());
            faults.up();
        }
        awaitFreeEarly("orphan", nodeId);
        awaitFree("unanswered");

        assertThat(living).allSatisfy(lock -> {
            assertThat(lock.state()).as(lock.name()).isIn(LockState.HELD, LockState.SUSPECT);
            assertThat(row(lock.name()).owner()).isEqualTo(lock.owner());
            assertThat(lock.release()).isIn(ReleaseOutcome.STILL_HELD, ReleaseOutcome.RELEASED);
        });
    }

    private void orphan(String name, String nodeId) {
        store.inTransaction(SOON, locks -> locks.createIfMissing(name));
        database.execute("update distributed_lock set owner = 'nobody', node_id = '" + nodeId + "', hold_count = 1, "
                + "fencing_token = fencing_token + 7, version = version + 1 where name = '" + name + "'");
    }

    @Test
    void whatIsHeldOrJustBeingAcquiredIsNeverFreedHoweverOftenTheNodeLooksAfterItsRows() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        Queue<LockLost> lost = new ConcurrentLinkedQueue<>();
        LockService mine = services.build(
                services.poolOver(faults),
                builder -> builder.nodeLease(ofSeconds(15)).listener(new LockListener() {
                    @Override
                    public void lost(LockLost loss) {
                        lost.add(loss);
                    }
                }));
        LockHandle keeper = mine.tryAcquire(request("keeper")).orElseThrow();
        List<Contended> names = List.of(new Contended("a"), new Contended("b"), new Contended("c"));
        AtomicBoolean isOver = new AtomicBoolean();
        AtomicInteger looks = new AtomicInteger();
        AtomicInteger breaks = new AtomicInteger();
        List<Future<?>> ends = new ArrayList<>();
        for (int holder = 0; holder < 4; holder++) {
            ends.add(threads.submit(() -> holdUntil(isOver, mine, names)));
        }
        ends.add(threads.submit(() -> holdUntil(isOver, theirs, names)));
        ends.add(threads.submit(() -> lookAfterRowsUntil(isOver, keeper, looks)));
        ends.add(threads.submit(() -> breakUntil(isOver, faults, breaks)));
        long start = System.nanoTime();
        // A busy machine needs longer for some of each.
        await().atMost(SOON)
                .until(() -> System.nanoTime() - start > ofSeconds(4).toNanos()
                        && looks.get() > 3
                        && breaks.get() > 3
                        && names.stream().allMatch(contended -> contended.lastToken > 0));
        isOver.set(true);
        for (Future<?> end : ends) {
            get(end);
        }
        faults.disarm();
        assertThat(lost).isEmpty();
        assertThat(keeper.state()).isIn(LockState.HELD, LockState.SUSPECT);
        assertThat(keeper.release()).isEqualTo(ReleaseOutcome.RELEASED);
        names.forEach(contended -> awaitFree(contended.name));
    }

    /** A name, who is inside, and the last token. */
    private static final class Contended {

        private final String name;
        private final AtomicInteger inside = new AtomicInteger();
        private volatile long lastToken;

        Contended(String name) {
            this.name = "contended " + name;
        }

        void hold(LockService locks) throws InterruptedException {
            LockHandle lock = locks.acquire(request(name).waitAtMost(SOON));
            assertThat(inside.incrementAndGet()).as("holders at once").isEqualTo(1);
            assertThat(lock.fencingToken()).isGreaterThan(lastToken);
            lastToken = lock.fencingToken();
            assertThat(lock.state()).isNotEqualTo(LockState.LOST);
            inside.decrementAndGet();
            assertThat(lock.release()).isNotEqualTo(ReleaseOutcome.LOST);
        }
    }

    /** Holds each name at least once. */
    private static int holdUntil(AtomicBoolean isOver, LockService locks, List<Contended> names) throws Exception {
        int holds = 0;
        while (holds < names.size() || !isOver.get()) {
            names.get(holds % names.size()).hold(locks);
            holds++;
        }
        return holds;
    }

    /** The next beat after each change of the node's version misses, and looks after the rows. */
    private void lookAfterRowsUntil(AtomicBoolean isOver, LockHandle keeper, AtomicInteger looks) {
        String nodeId = nodeOf(keeper.name());
        while (!isOver.get()) {
            database.execute("update lock_node set version = version + 1 where id = '" + nodeId + "'");
            try {
                keeper.renew(ofSeconds(1));
                looks.incrementAndGet();
            } catch (LockStoreException broken) {
                // The connection was broken just then.
            }
        }
    }

    private static void breakUntil(AtomicBoolean isOver, FaultyDataSource faults, AtomicInteger breaks) {
        while (!isOver.get()) {
            ThreadLocalRandom random = ThreadLocalRandom.current();
            faults.arm(random.nextInt(1, 40), random.nextBoolean() ? Fault.BEFORE_SEND : Fault.ANSWER_LOST);
            await().pollInSameThread()
                    .pollInterval(ofMillis(5))
                    .atMost(SOON)
                    .until(() -> faults.fired() || isOver.get());
            breaks.incrementAndGet();
        }
    }
}
