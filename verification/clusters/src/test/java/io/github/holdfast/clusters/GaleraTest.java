package io.github.holdfast.clusters;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.HoldfastException;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.DatabaseRisk;
import io.github.holdfast.repository.Grant;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.repository.store.CommitGuard;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.TransactionException;

/** Locks on a Galera cluster of which two nodes are written to at the same time. */
@Tag("cluster")
@TestInstance(Lifecycle.PER_CLASS)
class GaleraTest {

    private static final Duration SOON = ofSeconds(30);
    private static final int ROUNDS = 2;

    private final GaleraCluster cluster = GaleraCluster.start();
    private Shop first;
    private Shop second;

    @BeforeAll
    void open() {
        LockSchema.on(new DriverManagerDataSource(cluster.url(0))).createIfMissing();
        cluster.execute(
                0,
                "use shop",
                Shop.createJournal(),
                "create table slow (v int not null)",
                "insert into slow select seq from seq_1_to_4000");
        awaitApplied();
        first = Shop.on(cluster.url(0), builder -> builder);
        second = Shop.on(cluster.url(1), builder -> builder);
    }

    @AfterAll
    void close() {
        if (second != null) {
            first.close();
            second.close();
        }
        cluster.close();
    }

    @BeforeEach
    void emptyJournal() {
        cluster.execute(0, "delete from shop.journal");
        awaitApplied();
    }

    /** Whatever was committed on the first node is on the second one. */
    private void awaitApplied() {
        cluster.queryForLong(1, "set statement wsrep_sync_wait = 1 for select count(*) from shop.slow");
    }

    @Test
    void aNodeThatDoesNotFlushIsReported() throws InterruptedException {
        List<String> warnings = Warnings.during(() -> {
            Shop.on(cluster.url(0), builder -> builder).close();
            Shop.on(cluster.url(0), builder -> builder.accept(DatabaseRisk.UNFLUSHED_COMMITS))
                    .close();
        });

        assertThat(warnings)
                .singleElement()
                .asString()
                .contains("innodb_flush_log_at_trx_commit=0", "holdfast.accept=unflushed-commits");
    }

    // The guard

    @Test
    void aGuardedTransactionDoesNotCommitAfterANewerGrant() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            assertThat(commitsAfterANewerGrant("guarded " + round, lock -> {})).isFalse();
        }
    }

    /** That is why the guard changes the row: a lock on the row is known to one node only. */
    @Test
    void aLockOfTheRowKeepsNobodyOnAnotherNodeFromTakingTheLock() throws Exception {
        CommitGuard locking = CommitGuard.of(first.unit(), null);
        boolean hasCommitted = false;
        for (int round = 0; round < ROUNDS && !hasCommitted; round++) {
            hasCommitted = commitsAfterANewerGrant(
                    "locked " + round,
                    lock -> assertThat(locking.check(
                                    List.of(new Grant(Grant.Kind.LOCK, lock.name(), lock.owner(), lock.fencingToken())),
                                    first.entityManager()))
                            .isEmpty());
        }
        assertThat(hasCommitted).isTrue();
    }

    interface Guard {
        void check(LockHandle lock);
    }

    /**
     * The first node is busy with changes of a table without a key, each of which it looks for in all rows, while the second one grants
     * the lock anew. So it does not know of that yet when the former holder's transaction is to be committed there.
     */
    private boolean commitsAfterANewerGrant(String name, Guard instead) throws Exception {
        LockRequest request = LockRequest.of(name).lease(ofMillis(100)).waitAtMost(SOON);
        boolean isFenced = name.startsWith("guarded");
        boolean isTold = true;
        LockHandle former = first.locks().acquire(isFenced ? request.requireFence() : request.withoutFence());
        try {
            first.transaction(() -> {
                long last = first.last();
                cluster.execute(1, "update shop.slow set v = v + 1 order by v desc");
                takeOverAndAdd(request.lease(ofMinutes(1)));
                assertThat(tokenOnTheFirstNode(name)).isEqualTo(former.fencingToken());
                first.add(former, last + 1);
                instead.check(former);
            });
        } catch (HoldfastException | DataAccessException | TransactionException refused) {
            isTold = false;
        } finally {
            assertThat(former.release()).isNotEqualTo(ReleaseOutcome.RELEASED);
        }
        awaitApplied();
        boolean isThere =
                cluster.queryForLong(1, "select count(*) from shop.journal where token = " + former.fencingToken())
                        == 1;
        assertThat(isThere).as("what was told").isEqualTo(isTold);
        return isThere;
    }

    private long tokenOnTheFirstNode(String name) {
        return cluster.queryForLong(0, "select fencing_token from shop.distributed_lock where name = '" + name + "'");
    }

    private void takeOverAndAdd(LockRequest request) {
        try (LockHandle newer = second.locks().acquire(request)) {
            second.transaction(() -> second.add(newer, second.last() + 1));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void noUpdateIsLostWhenHoldersOnTwoNodesOverstayTheirLeases() throws Exception {
        Clerks clerks = new Clerks(
                LockRequest.of("journal")
                        .lease(ofMillis(40))
                        .waitAtMost(ofSeconds(5))
                        .requireFence(),
                ofMillis(60));
        clerks.work(ofSeconds(10), first, second);
        awaitApplied();

        System.out.println(
                "Galera, guarded on two nodes: " + clerks.commits() + " commits, " + clerks.refused() + " refused");
        assertThat(clerks.commits()).isPositive();
        assertThat(cluster.queryForLong(1, "select count(*) from shop.journal"))
                .isGreaterThanOrEqualTo(clerks.commits());
        assertThat(cluster.queryForLong(1, "select count(*) - count(distinct seq) from shop.journal"))
                .as("numbers given twice")
                .isZero();
        assertThat(
                        cluster.queryForLong(
                                1,
                                "select count(*) from shop.journal a join shop.journal b on b.seq = a.seq + 1 and b.token < a.token"))
                .as("commits out of the order of their tokens")
                .isZero();
    }

    // Compare-and-set

    @ParameterizedTest
    @ValueSource(strings = {"lease", "node"})
    void nobodyHoldsALockThatIsHeldOnAnotherNode(String way) throws Exception {
        LockRequest request = LockRequest.of("held by " + way).waitAtMost(SOON).withoutFence();
        LockRequest wanted = way.equals("lease") ? request.lease(ofMinutes(1)) : request;
        AtomicReference<LockHandle> holder = new AtomicReference<>();
        Set<Long> tokens = ConcurrentHashMap.newKeySet();
        long end = System.nanoTime() + ofSeconds(4).toNanos();
        ExecutorService threads = Executors.newFixedThreadPool(6);
        List<Future<?>> holders = new ArrayList<>();
        for (int thread = 0; thread < 6; thread++) {
            Shop shop = thread % 2 == 0 ? first : second;
            holders.add(threads.submit(() -> {
                while (System.nanoTime() < end) {
                    LockHandle lock = shop.locks().acquire(wanted);
                    assertThat(holder.compareAndExchange(null, lock))
                            .as("another holder")
                            .isNull();
                    assertThat(tokens.add(lock.fencingToken()))
                            .as("a new token")
                            .isTrue();
                    holder.set(null);
                    lock.release();
                }
                return null;
            }));
        }
        threads.shutdown();
        for (Future<?> each : holders) {
            each.get();
        }
        System.out.println("Galera, held by " + way + " on two nodes: " + tokens.size() + " grants");
        assertThat(tokens).hasSizeGreaterThan(10);
    }

    // Row locks

    @Test
    void rowLocksAreRefused() {
        assertThatIllegalStateException()
                .isThrownBy(() -> first.locks().tryAcquire(LockRequest.of("row").rowLock()))
                .withMessageContainingAll("'row'", "Galera", "rowLock()", "singleWriter()", "holdfast.single-writer");
    }

    @Test
    void rowLocksAreAllowedWhereOneNodeIsWrittenTo() {
        LockRequest request = LockRequest.of("row of one writer").rowLock();
        try (Shop mine = Shop.on(cluster.url(0), builder -> builder.singleWriter());
                Shop theirs = Shop.on(cluster.url(0), builder -> builder.singleWriter());
                LockHandle lock = mine.locks().tryAcquire(request).orElseThrow()) {
            assertThat(theirs.locks().tryAcquire(request)).isEmpty();
            assertThat(lock.state()).isEqualTo(LockState.HELD);
        }
    }

    // The death of a node

    @Test
    void aLockIsKeptWhenTheNodeThatIsWrittenToDies() throws Exception {
        try (Shop shop = Shop.on(
                cluster.urlOfFirst(2, 1),
                builder -> builder.nodeLease(ofSeconds(30)).withoutHousekeeping())) {
            LockHandle held = shop.locks().acquire(LockRequest.of("kept"));
            long killed = System.nanoTime();
            cluster.kill(2);
            await().atMost(ofSeconds(60)).until(() -> isAcquired(shop));
            System.out.println("Galera, killed node: next grant after "
                    + Duration.ofNanos(System.nanoTime() - killed).toMillis() + " ms");

            assertThat(held.state()).isNotEqualTo(LockState.LOST);
            await().atMost(ofSeconds(30)).until(() -> held.state() == LockState.HELD);
            assertThat(second.locks().tryAcquire(LockRequest.of("kept"))).isEmpty();
            held.release();
        }
    }

    private static boolean isAcquired(Shop shop) throws InterruptedException {
        try (LockHandle lock = shop.locks()
                .acquire(LockRequest.of("probe").lease(ofSeconds(30)).waitAtMost(ofSeconds(1)))) {
            return lock.state() == LockState.HELD;
        } catch (HoldfastException notYet) {
            return false;
        }
    }
}
