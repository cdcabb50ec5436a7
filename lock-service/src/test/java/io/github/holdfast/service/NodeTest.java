package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.ReadableDuration;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Locks that live as long as their node, between services of one process. */
@OnEachDatabase
class NodeTest {

    private static final Duration NODE_LEASE = ofSeconds(8);
    private static final Duration SOON = ofSeconds(60);
    private static final LockRequest REQUEST = LockRequest.of("node-held").waitAtMost(SOON);

    private Database database;
    private Services services;

    @BeforeEach
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        Services.emptyTables(database);
    }

    @AfterEach
    void close() throws Exception {
        services.close();
    }

    private LockService service() {
        return services.build(builder -> builder.nodeLease(NODE_LEASE));
    }

    private LockService service(FaultyDataSource faults) {
        return services.build(services.poolOver(faults), builder -> builder.nodeLease(NODE_LEASE));
    }

    private static LockRequest once(LockRequest request) {
        return LockRequest.of(request.name());
    }

    @Test
    void aLockWithoutALeaseOutlivesTheLeaseOfItsNodeAsLongAsTheServiceLives() throws Exception {
        LockService mine = service();
        LockService theirs = service();
        try (LockHandle lock = mine.acquire(REQUEST)) {
            // A beat may be late on a busy machine, and then the lock is suspect for a moment.
            await().during(NODE_LEASE.plusSeconds(2))
                    .atMost(SOON)
                    .until(() -> lock.state() != LockState.LOST
                            && theirs.tryAcquire(once(REQUEST)).isEmpty());
            assertThat(lock.remaining()).isBetween(ofMillis(1), NODE_LEASE);
            LockInfo info = theirs.find(REQUEST.name()).orElseThrow();
            assertThat(info.nodeId()).isNotNull();
            assertThat(info.expiresIn()).isLessThanOrEqualTo(NODE_LEASE);
        }
        theirs.tryAcquire(once(REQUEST)).orElseThrow().close();
    }

    @Test
    void nestedAcquisitionsAreCountedInTheRowAndInnerLeasesChangeNothing() throws Exception {
        LockService mine = service();
        LockHandle outer = mine.acquire(REQUEST);
        LockHandle inner = mine.acquire(REQUEST.lease(ofSeconds(60)));
        assertThat(inner.fencingToken()).isEqualTo(outer.fencingToken());
        assertThat(mine.find(REQUEST.name()).orElseThrow())
                .satisfies(info -> assertThat(info.holdCount()).isEqualTo(2))
                .satisfies(info -> assertThat(info.expiresIn()).isLessThanOrEqualTo(NODE_LEASE));
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(mine.find(REQUEST.name())).isEmpty();
    }

    @Test
    void aNestedRequestWithoutALeaseInsideALeaseIsRefused() throws Exception {
        LockService mine = service();
        try (LockHandle outer = mine.acquire(REQUEST.lease(ofSeconds(60)))) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> mine.acquire(REQUEST))
                    .withMessageContaining(REQUEST.name())
                    .withMessageContaining("lease");
            assertThat(outer.holdCount()).isEqualTo(1);
        }
        try (LockHandle outer = mine.acquire(REQUEST.owner("me").lease(ofSeconds(60)))) {
            assertThatIllegalStateException()
                    .isThrownBy(() -> mine.acquire(REQUEST.owner("me")))
                    .withMessageContaining(REQUEST.name())
                    .withMessageContaining("lease");
            assertThat(outer.holdCount()).isEqualTo(1);
        }
    }

    @Test
    void aChosenOwnerReentersThroughItsOwnNodeOnly() throws Exception {
        LockService mine = service();
        LockService theirs = service();
        LockRequest request = REQUEST.owner("shared");
        LockHandle outer = mine.acquire(request);
        LockHandle inner = mine.acquire(request);
        LockHandle leased = mine.acquire(request.lease(ofSeconds(60)));
        assertThat(leased.holdCount()).isEqualTo(3);
        assertThat(theirs.tryAcquire(once(REQUEST).owner("shared"))).isEmpty();
        assertThat(theirs.tryAcquire(once(REQUEST).owner("shared").lease(ofSeconds(60))))
                .isEmpty();
        assertThat(leased.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(outer.release()).isEqualTo(ReleaseOutcome.STILL_HELD);
        assertThat(inner.release()).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.tryAcquire(once(REQUEST).owner("shared")).orElseThrow().close();
    }

    @Test
    void closingTheServiceFreesItsLocksAtOnceAndTellsTheHolders() throws Exception {
        LockService mine = service();
        Queue<LockLost> told = new ConcurrentLinkedQueue<>();
        LockHandle lock = mine.acquire(REQUEST).onLost(told::add);
        mine.close();
        service().tryAcquire(once(REQUEST)).orElseThrow().close();
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(told)
                        .containsExactly(new LockLost(
                                lock.name(), lock.owner(), lock.fencingToken(), LossCause.SERVICE_CLOSED)));
    }

    @Test
    void withoutTheDatabaseALockIsSuspectThenLostOnTime() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockService mine = service(faults);
        LockService theirs = service();
        List<String> events = new CopyOnWriteArrayList<>();
        LockHandle lock =
                mine.acquire(REQUEST).onLost(loss -> events.add(loss.cause().name()));
        faults.down();
        await().atMost(SOON)
                .until(() ->
                        lock.state() == LockState.SUSPECT && !lock.remaining().isZero());
        FutureTask<LockState> whenGranted = new FutureTask<>(() -> {
            try (LockHandle next = theirs.acquire(REQUEST)) {
                assertThat(next.state()).isEqualTo(LockState.HELD);
                return lock.state();
            }
        });
        new Thread(whenGranted).start();
        await().atMost(SOON).until(() -> !events.isEmpty());
        assertThat(whenGranted.get(60, TimeUnit.SECONDS))
                .as("when another service has it")
                .isEqualTo(LockState.LOST);
        assertThat(events).containsExactly("DATABASE_UNREACHABLE");
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> lock.ensureValidFor(ofMillis(1)))
                .satisfies(lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.DATABASE_UNREACHABLE));
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> lock.renew(ofSeconds(1)));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        faults.up();
        mine.acquire(REQUEST).close();
    }

    @Test
    void theThreadIsInterruptedWhenItsLockIsLostIfItWantsThat() throws Exception {
        LockService mine = service();
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Thread worker = new Thread(() -> {
            try (LockHandle lock = mine.acquire(REQUEST.interruptOnLoss())) {
                new CountDownLatch(1).await();
            } catch (InterruptedException expected) {
                interrupted.complete(true);
            } catch (LockLostException lost) {
                interrupted.complete(false);
            }
        });
        worker.start();
        await().atMost(SOON).until(() -> mine.find(REQUEST.name()).isPresent());
        database.execute("update lock_node set ended = true, version = version + 1");
        await().atMost(SOON).untilAsserted(() -> assertThat(interrupted).isCompletedWithValue(true));
        worker.join();
    }

    @Test
    void aWaiterIsGrantedTheLockThoughTheRowOfItsNodeWasDeletedMeanwhile() throws Exception {
        LockService mine = services.build(builder -> builder.nodeLease(ofSeconds(6)));
        LockService theirs = service();
        mine.acquire(LockRequest.of("registers a node")).close();
        String node = TestRows.of(database).nodes().get(0);
        LockHandle held = theirs.acquire(REQUEST.lease(ofSeconds(60)));
        FutureTask<LockHandle> waiting = new FutureTask<>(() -> mine.acquire(REQUEST));
        Thread waiter = new Thread(waiting);
        waiter.start();
        await().atMost(SOON).until(() -> mine.admin().waiting() == 1);
        long begun = beats(node);
        await().atMost(SOON).until(() -> beats(node) > begun);
        database.execute("delete from lock_node where id = '" + node + "'");
        held.close();
        assertThat(waiting).succeedsWithin(SOON);
        waiter.join();
    }

    /** What a test suite, or a person, does to the rows of running services. On MySQL, the grant does not look for the node again. */
    @ParameterizedTest
    @ValueSource(strings = {"delete from lock_node", "truncate table lock_node", "update lock_node set ended = true"})
    void aLockOfANodeThatWasChangedByHandIsNotGrantedToAnotherWhileItIsHeld(String change) throws Exception {
        LockService mine = service();
        LockService theirs = service();
        mine.acquire(LockRequest.of("registers a node")).close();
        theirs.acquire(LockRequest.of("registers another")).close();
        database.execute(change);
        LockHandle lock = mine.acquire(REQUEST);
        await().atMost(SOON).until(() -> {
            Optional<LockHandle> other = theirs.tryAcquire(once(REQUEST));
            assertThat(other.isPresent() && lock.state() != LockState.LOST)
                    .as("two holders")
                    .isFalse();
            return other.isPresent() || isHeldThroughALivingNode();
        });
        lock.release();
    }

    private boolean isHeldThroughALivingNode() {
        return database.queryForLong("select count(*) from distributed_lock l join lock_node n on n.id = l.node_id"
                        + " where l.name = '" + REQUEST.name() + "' and n.ended = false")
                == 1;
    }

    /** Of as many changes as {@code holdfast.test.node-changes} says. */
    @Test
    void nodesThatAreChangedByHandAtAnyMomentLeaveOneHolder() throws Exception {
        Random random = new Random(Long.getLong("holdfast.test.seed", 1));
        AtomicBoolean isOver = new AtomicBoolean();
        LongAdder grants = new LongAdder();
        AtomicReference<LockHandle> holder = new AtomicReference<>();
        Queue<String> overlaps = new ConcurrentLinkedQueue<>();
        List<FutureTask<Void>> users = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            LockService service = services.build(builder -> builder.nodeLease(ofSeconds(6)));
            users.add(new FutureTask<>(() -> {
                while (!isOver.get()) {
                    Optional<LockHandle> lock = tryAcquireBesideTruncation(service);
                    if (lock.isPresent()) {
                        grants.increment();
                        use(lock.get(), holder, overlaps);
                    }
                }
                return null;
            }));
        }
        users.forEach(user -> new Thread(user, "user").start());
        int left = Integer.getInteger("holdfast.test.node-changes", 20);
        while (left > 0) {
            long before = grants.sum();
            await().pollInterval(ofMillis(1)).atMost(SOON).until(() -> grants.sum() > before + random.nextInt(10));
            left -= changeNode(random);
        }
        isOver.set(true);
        for (FutureTask<Void> user : users) {
            user.get(1, TimeUnit.MINUTES);
        }
        System.out.printf("%s: %d grants beside changed nodes%n", database.kind(), grants.sum());
        assertThat(overlaps).isEmpty();
    }

    /** A statement that waits for a truncation may take too long, or longer than the lease of the node. */
    private static Optional<LockHandle> tryAcquireBesideTruncation(LockService service) {
        try {
            return service.tryAcquire(once(REQUEST));
        } catch (LockStoreException | LockLostException late) {
            return Optional.empty();
        }
    }

    private void use(LockHandle lock, AtomicReference<LockHandle> holder, Queue<String> overlaps) {
        LockHandle before = holder.getAndSet(lock);
        if (before != null && before.state() != LockState.LOST && lock.state() != LockState.LOST) {
            overlaps.add(before + " beside " + lock);
        }
        // As long as a transaction of its user takes.
        database.queryForLong("select count(*) from lock_waiter");
        holder.compareAndSet(lock, null);
        lock.release();
    }

    /** Ends or deletes a node, or all of them. Returns 0 if there was none, or if a truncation waited too long for the others. */
    private int changeNode(Random random) {
        String id = database.queryForString(
                "select " + (random.nextBoolean() ? "min" : "max") + "(id) from lock_node where ended = false");
        if (id == null) {
            return 0;
        }
        String of = " where id = '" + id + "'";
        try {
            database.execute(
                    switch (random.nextInt(5)) {
                        case 0 -> "truncate table lock_node";
                        case 1, 2 -> "delete from lock_node" + of;
                        default -> "update lock_node set ended = true, version = version + 1" + of;
                    });
        } catch (IllegalStateException waitedTooLong) {
            return 0;
        }
        return 1;
    }

    /** As if the other process had been restored from the same image: it beats first. */
    @Test
    void aProcessDoesNotGoOnWithANodeThroughWhichACopyOfItBeats() throws Exception {
        LockService mine = service();
        LockHandle lock = mine.acquire(REQUEST);
        String node =
                Objects.requireNonNull(mine.find(REQUEST.name()).orElseThrow().nodeId());
        long beats = beats(node);
        await().atMost(SOON).until(() -> beats(node) > beats);
        database.execute("update lock_node set version = version + 1234567 where id = '" + node + "'");
        await().atMost(SOON).until(() -> lock.state() == LockState.LOST);
        assertThat(database.queryForLong("select count(*) from lock_node where ended = false and id = '" + node + "'"))
                .as("the copy goes on with the node")
                .isEqualTo(1);
        try (LockHandle next = mine.acquire(LockRequest.of("next"))) {
            assertThat(mine.find("next").orElseThrow().nodeId()).isNotNull().isNotEqualTo(node);
            assertThat(next.state()).isEqualTo(LockState.HELD);
        }
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        database.execute("update lock_node set ended = true, version = version + 1 where id = '" + node + "'");
    }

    private long beats(String node) {
        return database.queryForLong("select version from lock_node where id = '" + node + "'");
    }

    @Test
    void aShortOutageLeavesALockHeldAgain() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        // What is left after the suspicion must be enough for a connection timeout of a second, and a beat.
        LockService mine = services.build(services.poolOver(faults), builder -> builder.nodeLease(ofSeconds(12)));
        try (LockHandle lock = mine.acquire(REQUEST)) {
            faults.down();
            await().atMost(SOON).until(() -> lock.state() == LockState.SUSPECT);
            faults.up();
            await().atMost(SOON).until(() -> lock.state() == LockState.HELD);
            await().during(ofSeconds(4)).atMost(SOON).until(() -> lock.state() == LockState.HELD);
        }
    }

    @Test
    void ensureValidForBeatsWhenLittleIsLeftAndRefusesMoreThanANodeHas() throws Exception {
        Duration lease = ofSeconds(15);
        LockService mine = services.build(builder -> builder.nodeLease(lease));
        try (LockHandle lock = mine.acquire(REQUEST)) {
            // Less than a beat leaves, which comes when a third of the lease is over.
            Duration nearlyAll = lease.minusSeconds(3);
            await().pollInterval(ofMillis(5))
                    .atMost(SOON)
                    .until(() -> lock.remaining().compareTo(nearlyAll) < 0);
            lock.ensureValidFor(nearlyAll);
            assertThat(lock.remaining()).isGreaterThan(nearlyAll.minusSeconds(2));
            lock.renew(lease);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> lock.ensureValidFor(lease.plusSeconds(1)))
                    .withMessageContaining(new ReadableDuration(lease).toString());
            assertThatIllegalArgumentException().isThrownBy(() -> lock.renew(lease.plusSeconds(1)));
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void aServiceWhoseNodeWasEndedGoesOnWithAFreshOneAndOldHandlesStayLost() throws Exception {
        LockService mine = service();
        LockHandle old = mine.acquire(REQUEST);
        String id = mine.find(REQUEST.name()).orElseThrow().nodeId();
        database.execute("update lock_node set ended = true, version = version + 1 where id = '" + id + "'");
        await().atMost(SOON).until(() -> old.state() == LockState.LOST);
        try (LockHandle fresh = mine.acquire(REQUEST)) {
            assertThat(fresh.fencingToken()).isGreaterThan(old.fencingToken());
            assertThat(mine.find(REQUEST.name()).orElseThrow().nodeId()).isNotEqualTo(id);
            assertThat(old.release()).isEqualTo(ReleaseOutcome.LOST);
            assertThat(fresh.state()).isEqualTo(LockState.HELD);
        }
    }

    @Test
    void manyLocksAreKeptByOneStatementForEachBeat() throws Exception {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        LockService mine =
                services.build(services.patientPoolOver(counting), builder -> builder.nodeLease(ofSeconds(12)));
        List<LockHandle> locks = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            locks.add(mine.tryAcquire(LockRequest.of("many " + i)).orElseThrow());
        }
        counting.reset();
        await().atMost(SOON)
                .until(() -> counting.sql().stream()
                                .filter(sql -> sql.startsWith("update lock_node"))
                                .count()
                        >= 2);
        // Every sixth beat, the rows of the node are read; after each, the counters of all nodes.
        assertThat(counting.sql())
                .allMatch(sql -> sql.startsWith("update lock_node")
                        || sql.contains("node_id=? order by")
                        || (sql.startsWith("select") && sql.endsWith("where ln1_0.ended=false")));
        assertThat(locks).allMatch(lock -> lock.state() == LockState.HELD);
    }
}
