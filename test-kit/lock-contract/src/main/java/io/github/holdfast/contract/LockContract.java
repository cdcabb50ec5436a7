package io.github.holdfast.contract;

import static java.time.Duration.ofDays;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * Tests whether locks are reliable on your own database. The tests include its configuration, and everything between the database
 * and your application: a proxy, a pool, a cluster. Extend this class, and run it as any JUnit test, with the system property
 * {@code holdfast.contract.url}, or with the data source of your application:
 *
 * <pre>{@code
 * class OurDatabaseTest extends LockContract {}
 * }</pre>
 *
 * <p>The tests use only Holdfast's tables. The names of their rows begin with {@code holdfast contract}, and the tests delete
 * these rows at the end. They create missing tables, and drop them again. Ten connections are enough for them.
 *
 * <p>The message of a failed test names the broken guarantee. If the database is not set up for Holdfast at all, an error before
 * the first test says so.
 */
@TestInstance(Lifecycle.PER_CLASS) // Services are expensive to open.
public abstract class LockContract extends SharingContract {

    private static final int THREADS = 6;
    private static final int ROUNDS = 8;

    private @Nullable DatabaseUnderTest opened;
    private @Nullable LockService otherService;

    /** Called by the user's test class. */
    protected LockContract() {}

    /**
     * Returns a data source that connects to the database as your application does. Called once.
     *
     * @return a data source with or without a pool; the tests do not close it. By default, one without a pool, for the system properties
     *     {@code holdfast.contract.url}, {@code .user} and {@code .password}; without the last two if the URL contains them
     * @throws IllegalStateException by default, if the first of these properties is not set
     * @throws Exception if the database is not available
     */
    protected DataSource dataSource() throws Exception {
        String url = System.getProperty("holdfast.contract.url");
        if (url == null) {
            throw new IllegalStateException(
                    "The contract needs a database: set the system property holdfast.contract.url"
                            + " (and .user and .password), or override dataSource()");
        }
        return new DriverManagerDataSource(
                url, System.getProperty("holdfast.contract.user"), System.getProperty("holdfast.contract.password"));
    }

    /**
     * Returns the settings of your application's persistence unit.
     *
     * @return properties of Hibernate and Jakarta Persistence by their names; none by default
     */
    protected Map<String, String> properties() {
        return Map.of();
    }

    /**
     * Applies your application's settings of its lock services.
     *
     * @param builder a builder that already has the contract's application name, housekeeping and transaction manager
     * @return the builder; unchanged by default
     */
    protected LockServiceBuilder settings(LockServiceBuilder builder) {
        return builder;
    }

    /**
     * Whether the database has row locks, as {@link io.github.holdfast.repository.LockDialect#hasRowLocks} says.
     *
     * @return true by default; if false, the contract checks that row locks are refused
     */
    protected boolean hasRowLocks() {
        return true;
    }

    @BeforeAll
    void open() throws Exception {
        opened = new DatabaseUnderTest(dataSource(), properties(), this::settings);
        otherService = opened.open();
    }

    @AfterAll
    void close() throws Exception {
        if (opened != null) {
            opened.close();
        }
    }

    @Override
    DatabaseUnderTest database() {
        return Objects.requireNonNull(opened, "opened");
    }

    @Override
    LockService one() {
        return database().fenced();
    }

    @Override
    LockService other() {
        return Objects.requireNonNull(otherService, "otherService");
    }

    private LockEntity row(LockRequest request) {
        return database()
                .row(request.name())
                .orElseThrow(() -> new AssertionError("What was committed is not there: the row of " + request));
    }

    @Test
    void atMostOneOwnerHoldsALock() throws Exception {
        LockRequest request = request("exclusion").lease(ofMinutes(1)).waitAtMost(SOON);
        AtomicInteger inside = new AtomicInteger();
        AtomicLong lastToken = new AtomicLong();
        Threads.together(THREADS, thread -> () -> {
            for (int round = 0; round < ROUNDS; round++) {
                try (LockHandle lock = service(thread).acquire(request)) {
                    assertEquals(1, inside.incrementAndGet(), "Owners that hold the lock at the same time");
                    assertEquals(
                            lock.owner(),
                            service(thread + 1)
                                    .find(lock.name())
                                    .map(LockInfo::owner)
                                    .orElse(null),
                            "Owner in the row of a lock that is held");
                    assertTrue(
                            lastToken.getAndSet(lock.fencingToken()) < lock.fencingToken(), "A token is not greater");
                    inside.decrementAndGet();
                }
            }
            return thread;
        });
    }

    /** The service decides on the row from the time of its own release. Another service has changed that row since. */
    @Test
    void whoWasOvertakenIsNotGrantedTheLock() {
        LockRequest request = request("overtaken").lease(ofMinutes(1));
        assertEquals(ReleaseOutcome.RELEASED, take(one(), request).release());
        take(other(), request);
        assertTrue(
                one().tryAcquire(request).isEmpty(),
                "Granted to two owners: an update does not compare, or its count is not that of the rows it has changed");
    }

    @Test
    void aNameThatIsNewGoesToOneOfThoseWhoWantIt() throws Exception {
        for (int round = 0; round < 3; round++) {
            LockRequest request = request("new " + round).lease(ofMinutes(1));
            List<Optional<LockHandle>> locks =
                    Threads.together(THREADS, thread -> () -> service(thread).tryAcquire(request));
            locks.forEach(lock -> lock.ifPresent(this::keep));
            assertEquals(1, locks.stream().filter(Optional::isPresent).count(), "Owners of a lock that was new");
        }
    }

    @Test
    void aLeaseIsTakenOverWhenItIsOverByTheDatabasesClockAndNotBefore() {
        LockRequest request = request("takeover").lease(SHORT);
        LockHandle former = take(one(), request);
        Instant over = Objects.requireNonNull(row(request).expiresAt());
        LockHandle next = await(other(), request.lease(ofMinutes(1)).waitAtMost(SOON));
        Instant grantedAt = Objects.requireNonNull(row(request).acquiredAt());
        assertFalse(
                grantedAt.isBefore(over), "Granted at " + grantedAt + ", but the lease before lasted until " + over);
        assertTrue(next.fencingToken() > former.fencingToken(), "The token of a takeover is not greater");
        assertThrows(LockLostException.class, () -> former.ensureValidFor(Duration.ZERO));
        assertEquals(ReleaseOutcome.LOST, former.release(), "A previous owner released the lock of the next one");
        assertEquals(next.fencingToken(), row(request).fencingToken());
        assertEquals(ReleaseOutcome.RELEASED, next.release());
    }

    @Test
    void aRenewedLeaseLastsLonger() {
        LockRequest request = request("renewal").lease(ofMinutes(1));
        LockHandle lock = take(one(), request);
        Instant before = Objects.requireNonNull(row(request).expiresAt());
        lock.renew(ofMinutes(10));
        Instant after = Objects.requireNonNull(row(request).expiresAt());
        assertFalse(after.isBefore(before.plus(ofMinutes(9))), "Renewed from " + before + " to " + after + " only");
        assertTrue(other().tryAcquire(request).isEmpty());
    }

    @Test
    void nestedAcquisitionsAreCounted() {
        LockRequest request = request("nested").lease(ofMinutes(1));
        LockHandle outer = take(one(), request);
        LockHandle inner = take(one(), request);
        assertEquals(2, row(request).holdCount(), "Hold count in the row of a lock that is held twice");
        assertEquals(outer.fencingToken(), inner.fencingToken());
        assertEquals(ReleaseOutcome.STILL_HELD, inner.release());
        assertTrue(other().tryAcquire(request).isEmpty(), "Granted although it was released once only");
        assertEquals(ReleaseOutcome.RELEASED, outer.release());
        take(other(), request);
    }

    @Test
    void tokensGrowAlsoWhenTheRowWasRemoved() {
        LockRequest request = request("tokens").lease(ofMinutes(1));
        long before = 0;
        for (int grant = 0; grant < 4; grant++) {
            LockHandle lock = take(service(grant), request);
            assertTrue(lock.fencingToken() > before, lock.fencingToken() + " came after " + before);
            before = lock.fencingToken();
            assertEquals(ReleaseOutcome.RELEASED, lock.release());
            if (grant % 2 == 1) {
                database().removeRow(request.name());
            }
        }
    }

    @Test
    void aTransactionUnderALostLockDoesNotCommit() {
        LockRequest request = request("lost").lease(SHORT);
        String written = database().name("written under a lost lock");
        take(one(), request);
        assertThrows(
                RuntimeException.class,
                () -> database().inTransaction(em -> {
                    em.persist(new LockEntity(written, 1));
                    em.flush();
                    await(other(), request.waitAtMost(SOON));
                }),
                "Committed although another owner had been granted the lock");
        assertTrue(database().row(written).isEmpty(), "What was rolled back is there");
    }

    @Test
    void nobodyTakesOverBetweenTheGuardOfATransactionAndItsCommit() {
        LockRequest request = request("guarded").lease(SHORT);
        String written = database().name("written under a guard");
        LockHandle lock = take(one(), request);
        database().inTransaction(em -> {
            em.persist(new LockEntity(written, 1));
            lock.guard();
            assertThrows(
                    HoldfastException.class,
                    () -> await(other(), request.waitAtMost(SHORT.multipliedBy(4))),
                    "Granted before the commit: the database does not keep the row locked");
        });
        assertTrue(database().row(written).isPresent(), "What was committed is not there");
        await(other(), request.waitAtMost(SOON));
    }

    @Test
    void whatIsNotCommittedIsNotSeen() {
        LockRequest request = request("uncommitted").lease(ofMinutes(1));
        take(one(), request);
        assertTrue(
                database().inRolledBackTransaction(em -> {
                    em.createQuery("update HoldfastLock set owner = null where name = :name")
                            .setParameter("name", request.name())
                            .executeUpdate();
                    return isSeenHeld(request);
                }),
                "Seen to be released before that was committed: the connections read what may be rolled back");
    }

    /**
     * Returns whether another service sees the lock as held. If that service cannot determine it without waiting, it does not see a
     * release either, so the result is true.
     */
    private boolean isSeenHeld(LockRequest request) {
        try {
            return other().find(request.name()).isPresent();
        } catch (LockStoreException undecided) {
            return true;
        }
    }

    @Test
    void aRowLockExcludesOthersUntilItIsReleased() throws Exception {
        LockRequest request = request("row").rowLock();
        if (!hasRowLocks()) {
            assertThrows(IllegalStateException.class, () -> one().tryAcquire(request));
            return;
        }
        LockHandle lock = take(one(), request);
        assertTrue(other().tryAcquire(request).isEmpty(), "select for update has locked a row that is locked");
        assertTrue(other().tryAcquire(request("row")).isEmpty(), "A row that is locked was written");
        Threads.together(2, thread -> () -> thread == 0 ? lock.release() : await(other(), request.waitAtMost(SOON)));
    }

    @Test
    void whereverAConnectionBreaksTheLockIsHeldByItsHandleOrSoonFree() {
        FaultyDataSource faults = database().faults();
        LockService breaking = database().open(faults, builder -> builder);
        for (Fault fault : List.of(Fault.BEFORE_SEND, Fault.AFTER_SEND, Fault.ANSWER_LOST)) {
            int steps = 0;
            while (isReached(steps + 1, fault, breaking, faults)) {
                steps++;
            }
            assertTrue(steps > 1, "Only " + steps + " statements could be broken");
        }
    }

    /** Breaks the connection at this step of an acquisition and of a release. Returns whether the step exists. */
    private boolean isReached(int step, Fault fault, LockService breaking, FaultyDataSource faults) {
        LockRequest request = request(fault + " at step " + step).lease(ofSeconds(1));
        faults.arm(step, fault);
        Optional<LockHandle> held = tryAcquire(breaking, request);
        boolean reached = faults.fired();
        faults.disarm();
        held.ifPresent(lock -> {
            assertEquals(lock.owner(), row(request).owner(), "Owner in the row of a lock that is held");
            assertEquals(lock.fencingToken(), row(request).fencingToken(), "Token in the row of a lock that is held");
            faults.arm(step, fault);
            lock.release();
            faults.disarm();
        });
        assertEquals(
                ReleaseOutcome.RELEASED,
                await(other(), request.waitAtMost(SOON)).release());
        return reached;
    }

    private static Optional<LockHandle> tryAcquire(LockService locks, LockRequest request) {
        try {
            return locks.tryAcquire(request);
        } catch (HoldfastException failed) {
            return Optional.empty();
        }
    }

    @Test
    void theLocksOfANodeThatIsCutOffAreTakenOver() {
        FaultyDataSource faults = database().faults();
        LockService cutOff = database().open(faults, builder -> builder.nodeLease(ofSeconds(2)));
        LockRequest request = request("node");
        LockHandle lock = take(cutOff, request);
        faults.down();
        LockHandle next = await(other(), request.waitAtMost(SOON));
        faults.up();
        assertEquals(LockState.LOST, lock.state(), "Granted to another owner while the holder believed in it");
        assertTrue(next.fencingToken() > lock.fencingToken(), "The token of a takeover is not greater");
    }

    @Test
    void aTaskRunsOnceInAPeriod() throws Exception {
        TaskRequest request = TaskRequest.of(database().name("task")).every(ofDays(365));
        AtomicInteger runs = new AtomicInteger();
        List<TaskOutcome> outcomes = Threads.together(
                THREADS, thread -> () -> service(thread).task(request).runIfDue(lock -> runs.incrementAndGet()));
        assertEquals(1, runs.get(), "Runs of a task in one period: " + outcomes);
    }
}
