package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_MEMORY;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LockStoreException;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.service.engine.hold.HandOffThread;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource;
import io.github.holdfast.test.jdbc.FaultyDataSource.Fault;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReadWriteLock;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/** Released locks that a service keeps for its next acquisitions. */
@OnEachDatabase({POSTGRESQL, MARIADB, MYSQL, H2_MEMORY})
class KeptLockTest {

    /** So long that no row is given back in time. */
    private static final Duration LONGEST = ofSeconds(1);

    private static final Duration SOON = ofSeconds(60);

    private Database database;
    private Services services;
    private CountingDataSource counting;
    private FaultyDataSource faults;
    private EntityManagerFactory unit;
    private LockService mine;
    private JpaTransactionManager manager;
    private TransactionTemplate transaction;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        services = Services.on(database);
        Services.emptyTables(database);
        faults = new FaultyDataSource(database.dataSource());
        counting = new CountingDataSource(faults);
        HikariDataSource pool = services.patientPoolOver(counting);
        // So that a transaction can have an isolation level of its own.
        unit = services.unit(pool, Map.of("hibernate.connection.handling_mode", "DELAYED_ACQUISITION_AND_HOLD"));
        manager = new JpaTransactionManager(unit);
        manager.setJpaDialect(new HibernateJpaDialect());
        transaction = new TransactionTemplate(manager);
        mine = services.build(
                unit,
                builder ->
                        builder.keepReleased(LONGEST).nodeLease(ofSeconds(60)).transactionManager(manager));
    }

    @AfterEach
    void close() throws Exception {
        faults.disarm();
        services.close();
    }

    private static LockRequest request(String name) {
        return LockRequest.of(name).waitAtMost(SOON);
    }

    /** Waits until the service keeps what it releases: it must listen first, and have told so. */
    private void awaitKeeping(LockService service) {
        assumeThat(database.kind().isH2()).as("no service on H2 can be asked").isFalse();
        AtomicLong names = new AtomicLong();
        await().atMost(SOON)
                .until(() -> service.acquire(request("first " + names.incrementAndGet()))
                                .release()
                        == ReleaseOutcome.KEPT);
    }

    /** Releases a lock so that it is kept: not if the last grant is a second old. */
    private LockHandle kept(LockService service, String name) throws InterruptedException {
        while (true) {
            LockHandle lock = service.acquire(request(name));
            if (lock.release() == ReleaseOutcome.KEPT) {
                return lock;
            }
        }
    }

    /** Revives a hold: not if the last grant is a second old. */
    private LockHandle revived(LockService service, String name) throws InterruptedException {
        while (true) {
            LockHandle before = kept(service, name);
            LockHandle lock = service.acquire(request(name));
            if (lock.owner().equals(before.owner())) {
                return lock;
            }
            ReleaseOutcome unused = lock.release();
        }
    }

    private LockService theirs() {
        return services.build(builder -> builder.keepReleased(LONGEST));
    }

    private boolean isHeld(String name) {
        return services.open().find(name).isPresent();
    }

    @Test
    void aKeptLockIsAcquiredAndReleasedWithoutAStatement() throws Exception {
        awaitKeeping(mine);
        LockHandle before = kept(mine, "job");
        for (int revived = 0; revived < 10; ) {
            counting.reset();
            LockHandle lock = mine.acquire(request("job"));
            if (lock.release() == ReleaseOutcome.KEPT && lock.owner().equals(before.owner())) {
                assertThat(counting.sql().stream().filter(sql -> sql.contains("distributed_lock")))
                        .isEmpty();
                assertThat(lock.fencingToken()).isEqualTo(before.fencingToken() + 1);
                assertThat(database.queryForLong("select fencing_token from distributed_lock where name = 'job'"))
                        .isGreaterThan(lock.fencingToken());
                before = lock;
                revived++;
            } else {
                // A second has passed since the grant.
                before = kept(mine, "job");
            }
        }
    }

    @Test
    void aServiceThatWantsAKeptLockGetsIt() throws Exception {
        LockService theirs = theirs();
        awaitKeeping(mine);
        long last = kept(mine, "job").fencingToken();
        try (LockHandle lock = theirs.acquire(request("job"))) {
            assertThat(lock.fencingToken()).isGreaterThan(last);
            assertThat(mine.tryAcquire(LockRequest.of("job"))).isEmpty();
        }
    }

    @Test
    void aServiceThatOnlyTriesGetsAKeptLockToo() throws Exception {
        LockService theirs = theirs();
        awaitKeeping(mine);
        // A recalled name is not kept again for a while, so each attempt has a name of its own.
        AtomicLong names = new AtomicLong();
        await().atMost(SOON).until(() -> {
            String name = "job " + names.incrementAndGet();
            kept(mine, name);
            return theirs.tryAcquire(LockRequest.of(name))
                    .map(LockHandle::release)
                    .isPresent();
        });
    }

    @Test
    void aServiceThatKeepsNothingGetsTheLockAfterTheTime() throws Exception {
        awaitKeeping(mine);
        kept(mine, "job");
        services.open().acquire(request("job")).close();
    }

    @Test
    void rowsAreGivenBackAfterTheTimeManyInOneTransaction() throws Exception {
        awaitKeeping(mine);
        for (int i = 0; i < 100; i++) {
            kept(mine, "job " + i);
        }
        // As a service does that settles a release of its own which had no answer.
        database.execute(
                "update distributed_lock set version = version + 1 where owner is not null and name like 'job 1%'");
        await().atMost(SOON)
                .until(() ->
                        database.queryForLong("select count(*) from distributed_lock where owner is not null") == 0);
    }

    @Test
    void theCloseOfTheServiceGivesItsRowsBack() throws Exception {
        awaitKeeping(mine);
        kept(mine, "job");
        mine.close();
        assertThat(isHeld("job")).isFalse();
    }

    @Test
    void aThreadOfTheSameProcessThatWaitsGoesOnWithTheGrant() throws Exception {
        awaitKeeping(mine);
        while (true) {
            LockHandle first = mine.acquire(request("job"));
            HandOffThread next = HandOffThread.start(() -> mine.acquire(request("job")));
            ReleaseOutcome outcome = first.release();
            LockHandle second = next.lock();
            assertThat(second.fencingToken()).isGreaterThan(first.fencingToken());
            ReleaseOutcome unused = second.release();
            if (outcome == ReleaseOutcome.KEPT) {
                assertThat(second.owner()).isEqualTo(first.owner());
                assertThat(second.fencingToken()).isEqualTo(first.fencingToken() + 1);
                return;
            }
        }
    }

    @Test
    void onlyPlainHoldsAreKept() throws Exception {
        awaitKeeping(mine);
        LockRequest plain = request("job");
        for (LockRequest other : List.of(
                plain.lease(SOON),
                plain.owner("chosen"),
                plain.minimumHold(ofMillis(1)),
                plain.fair(),
                plain.notReentrant(),
                plain.shared())) {
            kept(mine, "job");
            LockHandle lock = mine.acquire(other);
            assertThat(lock.release()).as(other.toString()).isEqualTo(ReleaseOutcome.RELEASED);
        }
        kept(mine, "job");
        mine.acquire(plain.rowLock()).close();
    }

    @Test
    void aThreadThatTriesIsNotRefusedBecauseItsServiceGivesTheLockBack() {
        LockService brief =
                services.build(builder -> builder.keepReleased(Duration.ZERO).nodeLease(ofSeconds(60)));
        awaitKeeping(brief);
        for (int round = 0; round < 300; round++) {
            Optional<LockHandle> lock = brief.tryAcquire(LockRequest.of("job"));
            assertThat(lock).as("round " + round).isPresent();
            ReleaseOutcome unused = lock.get().release();
        }
    }

    @Test
    @SuppressWarnings("LockNotBeforeTry") // Each lock is released at once.
    void aThreadThatTriesToReadAfterItsOwnWriteIsNotRefused() throws Exception {
        awaitKeeping(mine);
        ReadWriteLock lock = mine.asReadWriteLock("job");
        for (int round = 0; round < 100; round++) {
            lock.writeLock().lock();
            lock.writeLock().unlock();
            assertThat(lock.readLock().tryLock()).as("round " + round).isTrue();
            lock.readLock().unlock();
        }
        kept(mine, "job");
        assertThat(mine.tryAcquire(LockRequest.of("job").rowLock())).hasValueSatisfying(LockHandle::close);
    }

    @Test
    void aNestedHoldIsKeptWithItsLastRelease() throws Exception {
        awaitKeeping(mine);
        await().atMost(SOON).until(() -> {
            LockHandle outer = mine.acquire(request("job"));
            assertThat(mine.acquire(request("job")).release()).isEqualTo(ReleaseOutcome.STILL_HELD);
            return outer.release() == ReleaseOutcome.KEPT;
        });
    }

    @Test
    void insideOfATransactionTheRowIsWritten() throws Exception {
        awaitKeeping(mine);
        long before = kept(mine, "job").fencingToken();
        long inside = transaction.execute(status -> {
            try (LockHandle lock = mine.acquireUninterruptibly(request("job"))) {
                return lock.fencingToken();
            }
        });
        assertThat(inside).isGreaterThan(before);
        LockService other = services.open();
        await().atMost(SOON).until(() -> other.find("job").isEmpty());
    }

    @Test
    void aTransactionUnderARevivedHoldIsGuarded() throws Exception {
        awaitKeeping(mine);
        try (LockHandle lock = revived(mine, "job")) {
            transaction.executeWithoutResult(status -> lock.guard());
            services.open().admin().forceRelease("job", "test");
            assertThatThrownBy(() -> transaction.executeWithoutResult(status -> {}))
                    .isInstanceOf(LockLostException.class);
        }
    }

    @Test
    void aHoldUnderAnUnreportedTransactionIsNotKept() throws Exception {
        awaitKeeping(mine);
        try (EntityManager entityManager = unit.createEntityManager()) {
            LockHandle lock = mine.acquire(request("job"));
            entityManager.getTransaction().begin();
            lock.guard(entityManager);
            entityManager.getTransaction().commit();
            assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    /** The next transaction under the lock must wait for it, and only a write of the row does. */
    @Test
    void aHoldUnderACommitWithoutAnAnswerIsNotKept() throws Exception {
        // What the service itself sends does not fail.
        JpaTransactionManager ofItsOwn = new JpaTransactionManager(unit);
        TransactionTemplate template = new TransactionTemplate(ofItsOwn);
        LockService separate = services.build(
                unit,
                builder -> builder.keepReleased(LONGEST)
                        .transactionManager(ofItsOwn)
                        .lockDataSource(services.patientPoolOver(database.dataSource())));
        awaitKeeping(separate);
        LockHandle lock = separate.acquire(request("job"));
        template.executeWithoutResult(status -> faults.arm(Integer.MAX_VALUE, Fault.ANSWER_LOST));
        int commit = faults.steps();
        assertThatThrownBy(() -> template.executeWithoutResult(status -> faults.arm(commit, Fault.ANSWER_LOST)))
                .isNotInstanceOf(HoldfastException.class);
        assertThat(faults.fired()).isTrue();
        faults.disarm();
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    /** The database does not notice that the snapshot is older than what the former holder has committed: no row was written. */
    @Test
    void aTransactionThatBeganBeforeTheRevivalIsRefusedIfItKeepsASnapshot() throws Exception {
        awaitKeeping(mine);
        TransactionTemplate snapshot = new TransactionTemplate(manager);
        snapshot.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
        TransactionTemplate suspending = new TransactionTemplate(manager);
        suspending.setPropagationBehavior(TransactionDefinition.PROPAGATION_NOT_SUPPORTED);
        List<LockHandle> held = new ArrayList<>();
        assertThatThrownBy(() -> snapshot.executeWithoutResult(outer -> suspending.executeWithoutResult(inner -> {
                    try {
                        held.add(revived(mine, "job"));
                    } catch (InterruptedException interrupted) {
                        throw new AssertionError(interrupted);
                    }
                })))
                .isInstanceOf(LockStoreException.class)
                .hasMessageContaining("READ COMMITTED");
        transaction.executeWithoutResult(status -> {});
        held.get(0).close();
    }

    @Test
    void anUnreportedTransactionWithASnapshotIsRefusedUnderARevivedHold() throws Exception {
        awaitKeeping(mine);
        try (LockHandle lock = revived(mine, "job");
                EntityManager entityManager = unit.createEntityManager()) {
            entityManager.getTransaction().begin();
            boolean keepsSnapshot = entityManager
                            .unwrap(org.hibernate.Session.class)
                            .doReturningWork(java.sql.Connection::getTransactionIsolation)
                    >= TransactionDefinition.ISOLATION_REPEATABLE_READ;
            if (keepsSnapshot) {
                assertThatThrownBy(() -> lock.guard(entityManager))
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("READ COMMITTED");
            } else {
                lock.guard(entityManager);
            }
            entityManager.getTransaction().rollback();
        }
    }

    /** The service may revive the grant until its next heartbeat, but such a hold ends before the lock is granted to another. */
    @Test
    void aHoldThatIsRevivedAfterAForcedReleaseEndsInTime() throws Exception {
        LockService brief =
                services.build(builder -> builder.keepReleased(LONGEST).nodeLease(ofSeconds(3)));
        LockService theirs = services.open();
        awaitKeeping(brief);
        await().atMost(SOON).until(() -> {
            kept(brief, "job");
            return theirs.admin().forceRelease("job", "test").isPresent();
        });
        long before = database.queryForLong("select fencing_token from distributed_lock where name = 'job'");
        Optional<LockHandle> revived = brief.tryAcquire(LockRequest.of("job"));
        try (LockHandle next = theirs.acquire(request("job"))) {
            revived.ifPresent(lock -> assertThat(lock.state()).isEqualTo(LockState.LOST));
            assertThat(next.fencingToken()).isGreaterThan(before);
            assertThat(brief.tryAcquire(LockRequest.of("job"))).isEmpty();
        }
    }

    @Test
    void twoServicesAndTheirThreadsExcludeEachOther() throws Exception {
        LockService theirs = theirs();
        awaitKeeping(mine);
        awaitKeeping(theirs);
        AtomicLong inside = new AtomicLong();
        AtomicLong lastToken = new AtomicLong();
        CountDownLatch done = new CountDownLatch(4);
        List<Throwable> failures = new java.util.concurrent.CopyOnWriteArrayList<>();
        List<AtomicLong> counts = List.of(new AtomicLong(), new AtomicLong(), new AtomicLong(), new AtomicLong());
        for (int i = 0; i < 4; i++) {
            LockService service = i % 2 == 0 ? mine : theirs;
            AtomicLong count = counts.get(i);
            new Thread(() -> {
                        try {
                            while (failures.isEmpty() && counts.stream().anyMatch(made -> made.get() < 50)) {
                                try (LockHandle lock = service.acquire(request("hot"))) {
                                    assertThat(inside.incrementAndGet()).isEqualTo(1);
                                    assertThat(lastToken.getAndSet(lock.fencingToken()))
                                            .isLessThan(lock.fencingToken());
                                    inside.decrementAndGet();
                                    count.incrementAndGet();
                                }
                            }
                        } catch (Throwable failed) {
                            failures.add(failed);
                        } finally {
                            done.countDown();
                        }
                    })
                    .start();
        }
        assertThat(done.await(SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        System.out.println("Acquisitions of two services with two threads each: " + counts);
        assertThat(failures).isEmpty();
    }

    @Test
    void aReleaseInDoubtIsSettledAndNotRevived() throws Exception {
        awaitKeeping(mine);
        kept(mine, "job");
        faults.arm(1, Fault.ANSWER_LOST);
        LockHandle lock = mine.acquireUninterruptibly(request("job").lease(SOON));
        assertThat(lock.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    @Test
    void nothingIsKeptWhereNoServiceCanBeAsked() throws Exception {
        assumeThat(database.kind().isH2()).isTrue();
        for (int i = 0; i < 3; i++) {
            assertThat(mine.acquire(request("job")).release()).isEqualTo(ReleaseOutcome.RELEASED);
        }
    }

    @Test
    void theTimeIsChecked() {
        LockServiceBuilder builder = LockService.builder(unit);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> builder.keepReleased(ofMillis(-1)))
                .withMessageContaining("0 s");
        assertThatIllegalArgumentException().isThrownBy(() -> builder.keepReleased(ofMillis(1001)));
    }
}
