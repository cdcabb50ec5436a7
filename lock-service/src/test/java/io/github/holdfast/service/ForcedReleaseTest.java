package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static java.util.concurrent.TimeUnit.MICROSECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockAudit;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.rows.LockSnapshot;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** A lock is taken from its holder, who is told before anybody else has it. */
@OnEachDatabase
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ForcedReleaseTest {

    /** A machine that stands still for some seconds does not end it. */
    private static final Duration NODE_LEASE = ofSeconds(10);

    private static final Duration TOLERANCE = ofMillis(100);

    /** How long a holder may believe in a grant that nothing has followed, by a clock that is behind. */
    private static final Duration BELIEVED = NODE_LEASE.plus(TOLERANCE);

    private static final Duration BEAT = NODE_LEASE.dividedBy(3);

    /** What a busy machine may add. */
    private static final Duration SLACK = ofSeconds(10);

    private static final Duration SOON = ofSeconds(60);
    private static final String REASON = "its holder hangs: \"Zoë's\" ticket #4711";

    private final ExecutorService threads = Executors.newCachedThreadPool(Daemons.named("contender"));
    private Database database;
    private Services services;
    private LockStore store;
    private LockService mine;
    private LockService theirs;

    @BeforeAll
    void open(Database database) {
        this.database = database;
        services = Services.on(database);
        store = LockStore.open(services.unit(database.pool(pool -> pool.setMaximumPoolSize(2))));
        mine = services.build(builder -> builder.nodeLease(NODE_LEASE).clockTolerance(TOLERANCE));
        theirs = services.build(builder -> builder.nodeLease(NODE_LEASE).clockTolerance(TOLERANCE));
    }

    @AfterAll
    void close() throws Exception {
        threads.shutdownNow();
        services.close();
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name);
    }

    private Optional<LockInfo> force(String name) {
        return theirs.admin().forceRelease(name, REASON);
    }

    private LockSnapshot seen(String name) {
        return store.inTransaction(SOON, (TransactionalLockRows locks) -> locks.read(name))
                .orElseThrow();
    }

    private LockEntity row(String name) {
        return seen(name).row();
    }

    /** Which node holds the lock. */
    private String nodeId(String name) {
        return Objects.requireNonNull(row(name).nodeId(), "it is held through a node");
    }

    private long audits(String name) {
        return database.queryForLong("select count(*) from lock_audit where lock_name = '" + name + "'");
    }

    private @Nullable String audit(String column, String name) {
        return database.queryForString("select " + column + " from lock_audit where lock_name = '" + name + "'");
    }

    private long version(String nodeId) {
        return database.queryForLong("select version from lock_node where id = '" + nodeId + "'");
    }

    private void awaitBeats(String nodeId, int count) {
        for (int beat = 0; beat < count; beat++) {
            long before = version(nodeId);
            await().pollInterval(ofMillis(20)).atMost(SOON).until(() -> version(nodeId) > before);
        }
    }

    /** One who waits for the lock and tells when it was let in. */
    private Future<Entered> waiting(String name) {
        Future<Entered> entered = threads.submit(() -> {
            LockHandle lock = theirs.acquire(request(name).waitAtMost(SOON));
            return new Entered(System.nanoTime(), lock);
        });
        await().atMost(SOON).until(() -> theirs.admin().waiting() > 0);
        return entered;
    }

    private record Entered(long at, LockHandle lock) {}

    private static <T> T get(Future<T> future) throws Exception {
        return future.get(SOON.toSeconds(), TimeUnit.SECONDS);
    }

    /** When its holder is told that a lock is lost, and why. */
    private static CompletableFuture<Told> told(LockHandle lock) {
        CompletableFuture<Told> told = new CompletableFuture<>();
        lock.onLost(loss -> told.complete(new Told(System.nanoTime(), loss.cause())));
        return told;
    }

    private record Told(long at, LossCause cause) {}

    @Test
    void aLivingHolderIsToldWithinOneBeatAndNobodyEntersBefore() throws Exception {
        String name = "forced-living";
        LockHandle lock = mine.tryAcquire(request(name)).orElseThrow();
        LockHandle nested = mine.tryAcquire(request(name)).orElseThrow();
        LockHandle other = mine.tryAcquire(request("not-forced")).orElseThrow();
        LockEntity before = row(name);
        awaitBeats(nodeId(name), 2);
        tellsAndKeepsOut(lock, before);
        assertThat(nested.state()).isEqualTo(LockState.LOST);
        assertThat(nested.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(other.state()).isEqualTo(LockState.HELD);
        assertThat(theirs.tryAcquire(request("not-forced"))).isEmpty();
        assertThat(other.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void aHolderThatNoBeatHasConfirmedYetIsToldLikeAnyOther() throws Exception {
        String name = "forced-fresh";
        LockHandle other = mine.tryAcquire(request("fresh-other")).orElseThrow();
        awaitBeats(nodeId("fresh-other"), 1);
        LockHandle lock = mine.tryAcquire(request(name)).orElseThrow();
        tellsAndKeepsOut(lock, row(name));
        assertThat(other.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    private void tellsAndKeepsOut(LockHandle lock, LockEntity before) throws Exception {
        String name = lock.name();
        CompletableFuture<Told> told = told(lock);
        Future<Entered> next = waiting(name);
        Instant earliest = seen(name).dbNow();
        long start = System.nanoTime();
        LockInfo forced = force(name).orElseThrow();
        assertThat(forced.owner()).isEqualTo(lock.owner());
        assertThat(forced.fencingToken()).isEqualTo(lock.fencingToken());
        assertThat(forced.nodeId()).isEqualTo(before.nodeId());

        LockSnapshot after = seen(name);
        Instant availableAt = after.row().availableAt();
        assertThat(after.row().owner()).isNull();
        assertThat(after.row().fencingToken()).isGreaterThan(lock.fencingToken());
        assertThat(availableAt).isBetween(earliest.plus(BELIEVED), after.dbNow().plus(BELIEVED));
        assertThat(guarded(lock)).as("rows that a guard finds").isZero();
        checkAudit(lock, before);

        assertThat(get(told).cause()).isEqualTo(LossCause.FORCED);
        assertThat(Duration.ofNanos(get(told).at() - start)).isLessThan(BEAT.plus(SLACK));
        assertThat(lock.state()).isEqualTo(LockState.LOST);
        assertThat(lock.remaining()).isZero();
        assertThat(get(next).at()).isGreaterThan(get(told).at());
        assertThat(row(name).acquiredAt()).isAfterOrEqualTo(availableAt);
        assertThat(get(next).lock().fencingToken()).isGreaterThan(lock.fencingToken());
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> lock.ensureValidFor(ofMillis(1)))
                .satisfies(lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.FORCED));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(get(next).lock().release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    private long guarded(LockHandle lock) {
        return database.queryForLong("select count(*) from distributed_lock where name = '" + lock.name()
                + "' and owner = '" + lock.owner() + "' and fencing_token = " + lock.fencingToken());
    }

    private void checkAudit(LockHandle lock, LockEntity before) {
        String name = lock.name();
        assertThat(audits(name)).isEqualTo(1);
        assertThat(audit("action", name)).isEqualTo(LockAudit.FORCED_RELEASE);
        assertThat(audit("owner", name)).isEqualTo(lock.owner());
        assertThat(audit("node_id", name)).isEqualTo(before.nodeId());
        assertThat(audit("holder", name)).isEqualTo(before.holder());
        assertThat(audit("fencing_token", name)).isEqualTo(String.valueOf(lock.fencingToken()));
        assertThat(audit("reason", name)).isEqualTo(REASON);
        assertThat(audit("done_by", name))
                .contains(String.valueOf(ProcessHandle.current().pid()))
                .endsWith(Thread.currentThread().getName());
        assertThat(database.queryForLong("select count(*) from lock_audit a, lock_node n where a.lock_name = '" + name
                        + "' and n.id = a.node_id and a.done_at > n.started_at and a.done_at < n.expires_at"))
                .as("done while the holder's node lived")
                .isEqualTo(1);
    }

    /**
     * The database has granted the lock, but the answer is still on its way when the lock is released by force and the node
     * looks after its locks: it does not know of this one yet. The next beats must not make it last.
     */
    @Test
    void aHolderWhoseGrantWasAnsweredOnlyAfterTheForcedReleaseDoesNotBelieveInIt() throws Exception {
        String name = "forced-unanswered";
        LateAnswer late = new LateAnswer(database.dataSource());
        LockService slow =
                services.build(services.patientPoolOver(late.dataSource()), builder -> builder.nodeLease(NODE_LEASE));
        LockHandle other = slow.tryAcquire(request("unanswered-other")).orElseThrow();
        String nodeId = nodeId("unanswered-other");
        theirs.tryAcquire(request(name)).orElseThrow().close();
        awaitBeats(nodeId, 1);
        // Nothing cancels the grant meanwhile, and the wait is over before the lock is available again.
        Duration wait = NODE_LEASE.minusSeconds(1);
        Future<LockHandle> acquiring = threads.submit(() -> {
            late.choose();
            return slow.acquire(request(name).waitAtMost(wait));
        });
        late.awaitDone();
        assertThat(force(name)).isPresent();
        awaitBeats(nodeId, 1);
        late.answer();
        Optional<LockHandle> believed = acquired(acquiring);
        LockHandle next = theirs.acquire(request(name).waitAtMost(SOON));
        believed.ifPresent(lock -> {
            assertThat(next.state()).isEqualTo(LockState.HELD);
            assertThat(lock.state()).as("while another one holds it").isEqualTo(LockState.LOST);
        });
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(other.release()).isEqualTo(ReleaseOutcome.RELEASED);
        slow.close();
    }

    /** Empty if it was refused, or is known to be lost. */
    private static Optional<LockHandle> acquired(Future<LockHandle> acquiring) throws Exception {
        try {
            return Optional.of(get(acquiring));
        } catch (ExecutionException failed) {
            assertThat(failed.getCause()).isInstanceOfAny(LockNotAcquiredException.class, LockLostException.class);
            return Optional.empty();
        }
    }

    @Test
    void aHolderByLeaseIsToldWhenItAsksAndNobodyEntersBeforeTheLeaseWouldHaveEnded() throws Exception {
        LockRequest asked = request("forced-lease").lease(NODE_LEASE);
        LockRequest silent = request("forced-lease-too").lease(NODE_LEASE);
        LockHandle asking = mine.tryAcquire(asked).orElseThrow();
        LockHandle unaware = mine.tryAcquire(silent).orElseThrow();
        LockEntity before = row(asked.name());
        CompletableFuture<Told> told = told(asking);
        assertThat(force(asked.name()).orElseThrow().nodeId()).isNull();
        assertThat(force(silent.name())).isPresent();
        assertThat(guarded(asking)).isZero();
        Instant availableAt = row(asked.name()).availableAt();
        assertThat(availableAt).isAfterOrEqualTo(before.expiresAt());
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> asking.renew(ofSeconds(60)))
                .satisfies(lost -> assertThat(lost.lossCause()).isEqualTo(LossCause.FORCED));
        assertThat(get(told).cause()).isEqualTo(LossCause.FORCED);
        assertThat(asking.state()).isEqualTo(LockState.LOST);
        assertThat(asking.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(theirs.tryAcquire(asked)).isEmpty();

        LockHandle next = theirs.acquire(silent.waitAtMost(SOON));
        assertThat(unaware.state()).isEqualTo(LockState.LOST);
        assertThat(unaware.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.acquire(asked.waitAtMost(SOON)).close();
        assertThat(row(asked.name()).acquiredAt()).isAfterOrEqualTo(availableAt);
        assertThat(audits(asked.name())).isEqualTo(1);
    }

    @Test
    void aLockThatNobodyHoldsIsLeftAsItIsAndNothingIsRecorded() throws Exception {
        mine.tryAcquire(request("forced-free")).orElseThrow().close();
        LockHandle expired =
                mine.tryAcquire(request("forced-expired").lease(ofMillis(500))).orElseThrow();
        await().atMost(SOON).until(() -> theirs.find("forced-expired").isEmpty());
        LockService ended = services.build(builder -> builder.nodeLease(NODE_LEASE));
        assertThat(ended.tryAcquire(request("forced-ended"))).isPresent();
        ended.close();
        for (String name : List.of("forced-free", "forced-expired", "forced-ended")) {
            LockEntity before = row(name);
            assertThat(force(name)).as(name).isEmpty();
            assertThat(row(name).version()).as(name).isEqualTo(before.version());
            assertThat(audits(name)).as(name).isZero();
            // After the end of a lease, the lock is refused for the tolerance of the clocks.
            Duration wait = name.equals("forced-expired") ? SOON : Duration.ZERO;
            theirs.acquire(request(name).waitAtMost(wait)).close();
        }
        assertThat(force("forced-unknown")).isEmpty();
        assertThat(audits("forced-unknown")).isZero();
        assertThat(expired.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aReasonIsOneLineOfUpToAThousandCharacters() throws Exception {
        String name = "forced-reason";
        LockHandle lock = mine.tryAcquire(request(name).lease(ofSeconds(60))).orElseThrow();
        for (String wrong : List.of("", " ", "two\nlines", "x".repeat(1001))) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> theirs.admin().forceRelease(name, wrong))
                    .withMessageContaining("reason");
        }
        assertThat(lock.state()).isEqualTo(LockState.HELD);
        assertThat(audits(name)).isZero();
        String longest = "ü".repeat(1000);
        assertThat(theirs.admin().forceRelease(name, " " + longest + " \n")).isPresent();
        assertThat(audit("reason", name)).isEqualTo(longest);
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void itIsDoneOnceWhateverStepOfItTheConnectionBreaksAt() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockAdmin admin = services.patientlyOpenOver(faults).admin();
        // Its node is to live for as long as a step may take.
        LockService holding = services.build(builder -> builder.clockTolerance(TOLERANCE));
        for (boolean isNodeHeld : List.of(true, false)) {
            for (Fault fault : List.of(Fault.BEFORE_SEND, Fault.AFTER_SEND, Fault.ANSWER_LOST)) {
                int step = 0;
                do {
                    step++;
                    String name = "forced-once-" + isNodeHeld + "-" + fault + "-" + step;
                    LockRequest request = request(name);
                    LockHandle lock = holding.tryAcquire(isNodeHeld ? request : request.lease(ofSeconds(60)))
                            .orElseThrow();
                    faults.arm(step, fault);
                    forceDespite(fault, admin, lock);
                    faults.disarm();
                    checkDoneOnce(lock);
                } while (faults.fired());
                assertThat(step).as("steps").isGreaterThan(isNodeHeld ? 6 : 4);
            }
        }
    }

    private static void forceDespite(Fault fault, LockAdmin admin, LockHandle lock) {
        try {
            assertThat(admin.forceRelease(lock.name(), REASON))
                    .as(lock.name())
                    .map(LockInfo::fencingToken)
                    .contains(lock.fencingToken());
        } catch (LockStoreException failed) {
            // A pool that finds the connection broken between two statements refuses the second one without a reason,
            // so it is left to the caller to try again.
            assertThat(fault).as(lock.name()).isEqualTo(Fault.AFTER_SEND);
            assertThat(admin.forceRelease(lock.name(), REASON)).as(lock.name()).isPresent();
        }
    }

    private void checkDoneOnce(LockHandle lock) {
        assertThat(audits(lock.name())).as(lock.name()).isEqualTo(1);
        assertThat(row(lock.name()).owner()).as(lock.name()).isNull();
        assertThat(row(lock.name()).fencingToken()).as(lock.name()).isEqualTo(lock.fencingToken() + 1);
        assertThat(lock.release()).as(lock.name()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void itIsDoneOnceWhenItsCommitIsAnsweredAsFailedAndLandsWhileItIsTriedAgain() throws Exception {
        FaultyDataSource faults = new FaultyDataSource(database.dataSource());
        LockAdmin admin = services.patientlyOpenOver(faults).admin();
        LockHandle lock =
                mine.tryAcquire(request("forced-delayed").lease(ofSeconds(60))).orElseThrow();
        faults.arm(4, Fault.DELAYED);
        Future<Optional<LockInfo>> forced = threads.submit(() -> admin.forceRelease(lock.name(), REASON));
        await().atMost(SOON).until(faults::fired);
        faults.disarm();
        faults.land();
        assertThat(get(forced)).map(LockInfo::fencingToken).contains(lock.fencingToken());
        checkDoneOnce(lock);
    }

    @Test
    void whenItRacesWithAReleaseAndAnAcquisitionEachGrantEndsInOneWay() throws Exception {
        boolean wasForced = false;
        boolean wasReleased = false;
        // Until each of the two has won, which takes a few rounds.
        for (int round = 0; round < 20 || (round < 300 && !(wasForced && wasReleased)); round++) {
            LockRequest plain = request("forced-race-" + round);
            LockRequest request = round % 2 == 0 ? plain : plain.lease(ofSeconds(60));
            LockHandle lock = mine.tryAcquire(request).orElseThrow();
            CyclicBarrier start = new CyclicBarrier(3);
            // A release is one statement, a forced one six: it needs a start that varies.
            long later = ThreadLocalRandom.current().nextLong(1 + round * MICROSECONDS.toNanos(50));
            Future<ReleaseOutcome> releasing = together(start, () -> {
                LockSupport.parkNanos(later);
                return lock.release();
            });
            Future<Optional<LockInfo>> forcing = together(start, () -> force(request.name()));
            Future<Optional<LockHandle>> acquiring = together(start, () -> theirs.tryAcquire(request));
            Optional<LockInfo> forced = get(forcing);
            Optional<LockHandle> next = get(acquiring);
            boolean isHolderForced = forced.filter(info -> info.fencingToken() == lock.fencingToken())
                    .isPresent();
            boolean isNextForced = forced.isPresent() && !isHolderForced;
            assertThat(get(releasing)).isEqualTo(isHolderForced ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED);
            assertThat(audits(request.name())).isEqualTo(forced.isPresent() ? 1 : 0);
            if (isHolderForced) {
                assertThat(next).as("not before it is available").isEmpty();
            }
            wasForced |= isHolderForced;
            wasReleased |= !isHolderForced;
            if (isNextForced) {
                assertThat(next)
                        .map(LockHandle::fencingToken)
                        .contains(forced.get().fencingToken());
            }
            next.ifPresent(entered -> {
                assertThat(entered.fencingToken()).isGreaterThan(lock.fencingToken());
                assertThat(entered.release()).isEqualTo(isNextForced ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED);
            });
            assertThat(row(request.name()).owner()).isNull();
        }
        assertThat(wasForced).as("the holder was forced").isTrue();
        assertThat(wasReleased).as("the holder was faster").isTrue();
    }

    @Test
    void aGrantThatWasGivenSinceTheHolderWasSeenIsNotTakenAway() throws Exception {
        String name = "forced-since";
        LockHandle seen = mine.tryAcquire(request(name)).orElseThrow();
        seen.close();
        LockHandle next = theirs.tryAcquire(request(name)).orElseThrow();
        assertThat(mine.admin().forceRelease(name, seen.fencingToken(), REASON)).isEmpty();
        assertThat(audits(name)).isZero();
        assertThat(next.state()).isEqualTo(LockState.HELD);
        assertThat(row(name).fencingToken()).isEqualTo(next.fencingToken());
        assertThat(mine.admin().forceRelease(name, next.fencingToken(), REASON))
                .map(LockInfo::fencingToken)
                .contains(next.fencingToken());
        assertThat(audits(name)).isEqualTo(1);
        assertThat(mine.admin().forceRelease(name, next.fencingToken(), REASON))
                .as("nobody holds it any more")
                .isEmpty();
        assertThat(next.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void whenItRacesWithAReleaseAndAnAcquisitionOnlyTheHolderThatWasSeenIsForced() throws Exception {
        boolean wasForced = false;
        boolean wasReleased = false;
        for (int round = 0; round < 20 || (round < 300 && !(wasForced && wasReleased)); round++) {
            LockRequest request = request("forced-seen-" + round);
            LockHandle seen = mine.tryAcquire(request).orElseThrow();
            CyclicBarrier start = new CyclicBarrier(3);
            long later = ThreadLocalRandom.current().nextLong(1 + round * MICROSECONDS.toNanos(50));
            Future<ReleaseOutcome> releasing = together(start, () -> {
                LockSupport.parkNanos(later);
                return seen.release();
            });
            Future<Optional<LockInfo>> forcing =
                    together(start, () -> theirs.admin().forceRelease(request.name(), seen.fencingToken(), REASON));
            Future<Optional<LockHandle>> acquiring = together(start, () -> theirs.tryAcquire(request));
            Optional<LockInfo> forced = get(forcing);
            assertThat(get(releasing)).isEqualTo(forced.isPresent() ? ReleaseOutcome.LOST : ReleaseOutcome.RELEASED);
            forced.ifPresent(info -> assertThat(info.fencingToken()).isEqualTo(seen.fencingToken()));
            assertThat(audits(request.name())).isEqualTo(forced.isPresent() ? 1 : 0);
            get(acquiring).ifPresent(next -> assertThat(next.release()).isEqualTo(ReleaseOutcome.RELEASED));
            wasForced |= forced.isPresent();
            wasReleased |= forced.isEmpty();
        }
        assertThat(wasForced).as("the holder was forced").isTrue();
        assertThat(wasReleased).as("the holder was faster").isTrue();
    }

    private <T> Future<T> together(CyclicBarrier start, Callable<T> work) {
        return threads.submit(() -> {
            start.await();
            return work.call();
        });
    }
}
