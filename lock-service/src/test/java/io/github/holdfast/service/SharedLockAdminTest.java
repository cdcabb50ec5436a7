package io.github.holdfast.service;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockMode;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** What operators see of shared locks, and what they take away. */
@OnEachDatabase
class SharedLockAdminTest extends AdminContract {

    private static final LockRequest ALONE = LockRequest.of("prices");
    private static final LockRequest SHARED = ALONE.shared().notReentrant();
    private static final LockRequest WITH_LEASE = SHARED.lease(ofMinutes(1));

    SharedLockAdminTest() {
        super("prices");
    }

    private LockHandle acquire(LockRequest request) {
        return mine.tryAcquire(request).orElseThrow();
    }

    private static LockRequest shared(String name) {
        return LockRequest.of(name).shared().notReentrant();
    }

    private static List<Long> tokens(List<LockInfo> holders) {
        return holders.stream().map(LockInfo::fencingToken).toList();
    }

    private void endLeaseOf(LockHandle share) {
        database.execute("update lock_holder set node_id = null, expires_at = acquired_at where fencing_token = "
                + share.fencingToken());
    }

    // What is there

    @Test
    void eachShareIsToldWithItsOwnTokenOwnerAndNodeOrLease() {
        assertThat(admin.holders("prices")).isEmpty();
        Instant before = admin.databaseClock();
        LockHandle one = acquire(SHARED);
        LockHandle two = acquire(WITH_LEASE);
        List<LockInfo> holders = admin.holders("prices");
        assertThat(holders)
                .extracting(LockInfo::fencingToken, LockInfo::owner, LockInfo::holdCount)
                .containsExactly(tuple(one.fencingToken(), one.owner(), 1), tuple(two.fencingToken(), two.owner(), 1));
        assertThat(holders).allSatisfy(holder -> {
            assertThat(holder.name()).isEqualTo("prices");
            assertThat(holder.mode()).isEqualTo(LockMode.SHARED);
            assertThat(holder.holder()).startsWith(mine.admin().process());
            assertThat(holder.acquiredAt()).isBetween(before, admin.databaseClock());
            assertThat(holder.expiresIn()).isBetween(ofMillis(1), ofMinutes(1));
        });
        assertThat(holders.get(0).nodeId()).isNotNull();
        assertThat(holders.get(1).nodeId()).isNull();
        assertThat(tokens(admin.held("", 10))).isEqualTo(tokens(holders));
        assertThat(mine.find("prices"))
                .hasValueSatisfying(found -> assertThat(found.fencingToken()).isEqualTo(one.fencingToken()));
        one.close();
        two.close();
        assertThat(admin.holders("prices")).isEmpty();
        assertThat(admin.held("", 10)).isEmpty();
        assertThatIllegalArgumentException().isThrownBy(() -> admin.holders(""));
    }

    @Test
    void whoHasALockAloneIsToldInThatMode() {
        try (LockHandle alone = acquire(ALONE)) {
            assertThat(admin.holders("prices")).singleElement().satisfies(holder -> {
                assertThat(holder.mode()).isEqualTo(LockMode.EXCLUSIVE);
                assertThat(holder.fencingToken()).isEqualTo(alone.fencingToken());
            });
            assertThat(admin.held("", 10)).extracting(LockInfo::mode).containsExactly(LockMode.EXCLUSIVE);
        }
    }

    @Test
    void locksOfBothModesAreToldInTheOrderOfNamesAndTokens() {
        LockHandle b1 = acquire(shared("b"));
        LockHandle d = acquire(LockRequest.of("d"));
        LockHandle c1 = acquire(shared("c"));
        LockHandle a = acquire(LockRequest.of("a"));
        LockHandle c2 = acquire(shared("c").lease(ofMinutes(1)));
        LockHandle b2 = acquire(shared("b").lease(ofMinutes(1)));
        LockHandle permit =
                mine.semaphore(SemaphoreRequest.of("bb").limit(2)).tryAcquire().orElseThrow();
        List<LockInfo> all = admin.held("", 10);
        assertThat(all).extracting(LockInfo::name).containsExactly("a", "b", "b", "c", "c", "d");
        assertThat(tokens(all))
                .containsExactly(
                        a.fencingToken(),
                        b1.fencingToken(),
                        b2.fencingToken(),
                        c1.fencingToken(),
                        c2.fencingToken(),
                        d.fencingToken());
        assertThat(admin.holders("bb")).isEmpty();
        List.of(a, b1, b2, c1, c2, d, permit).forEach(LockHandle::close);
    }

    @Test
    void aPageHasAllSharesOfItsLocks() {
        List<LockHandle> held = new ArrayList<>();
        for (String name : List.of("a", "b", "b", "b", "c", "d", "d")) {
            held.add(acquire(shared(name).lease(ofMinutes(1))));
        }
        for (int limit = 1; limit <= 8; limit++) {
            List<LockInfo> seen = new ArrayList<>();
            List<LockInfo> page = admin.held("", limit);
            while (!page.isEmpty()) {
                seen.addAll(page);
                page = page.size() < limit
                        ? List.of()
                        : admin.held(page.get(page.size() - 1).name(), limit);
            }
            assertThat(tokens(seen))
                    .as("limit " + limit)
                    .isEqualTo(held.stream().map(LockHandle::fencingToken).toList());
        }
        assertThat(admin.held("a", 1)).extracting(LockInfo::name).containsExactly("b", "b", "b");
        held.forEach(LockHandle::close);
    }

    @Test
    void aSharedLockWithoutALivingHolderIsNotTold() {
        acquire(shared("a")).close();
        LockHandle dead = acquire(shared("b").lease(ofMinutes(1)));
        endLeaseOf(dead);
        LockHandle absent = acquire(shared("c"));
        LockHandle ended = acquire(shared("d"));
        LockHandle forced = acquire(shared("e"));
        LockHandle both = acquire(shared("f").lease(ofMinutes(1)));
        LockHandle living = acquire(shared("f").lease(ofMinutes(1)));
        endLeaseOf(both);
        database.execute(
                "update lock_holder set node_id = 'absent' where name = 'c'",
                "insert into lock_node (id, started_at, expires_at, ended, version)"
                        + " select 'ended', acquired_at, acquired_at, true, 0 from lock_holder where name = 'd'",
                "update lock_holder set node_id = 'ended' where name = 'd'");
        assertThat(admin.forceRelease("e", "stuck")).isPresent();
        assertThat(tokens(admin.held("", 1))).as("the first page").containsExactly(living.fencingToken());
        assertThat(tokens(admin.held("", 10))).containsExactly(living.fencingToken());
        for (String name : List.of("a", "b", "c", "d", "e")) {
            assertThat(admin.holders(name)).as(name).isEmpty();
        }
        assertThat(tokens(admin.holders("f"))).containsExactly(living.fencingToken());
        database.execute("delete from lock_holder where name <> 'f'", "delete from lock_node where id = 'ended'");
        List.of(dead, absent, ended, forced, both, living).forEach(LockHandle::release);
    }

    /** Those of the lock before it are not cut off, and the page goes on after it. */
    @Test
    void ofAVeryPopularLockTheOldestSharesAreTold() {
        List.of("a", "popular", "z").forEach(name -> acquire(shared(name)).close());
        share("a", 2);
        share("popular", LockAdmin.MAX_PAGE_SIZE + 1);
        share("z", 1);
        LockHandle alone = acquire(LockRequest.of("zz").lease(ofMinutes(1)));
        assertThat(admin.held("", 1)).hasSize(2).extracting(LockInfo::name).containsOnly("a");
        for (int limit : List.of(2, 3, LockAdmin.MAX_PAGE_SIZE)) {
            List<LockInfo> page = admin.held("", limit);
            assertThat(page)
                    .hasSize(2 + LockAdmin.MAX_PAGE_SIZE)
                    .extracting(LockInfo::name)
                    .containsOnly("a", "popular");
            assertThat(tokens(page.subList(2, page.size()))).isSorted().endsWith((long) LockAdmin.MAX_PAGE_SIZE);
        }
        assertThat(admin.held("popular", 10)).extracting(LockInfo::name).containsExactly("z", "zz");
        assertThat(admin.holders("popular")).hasSize(LockAdmin.MAX_PAGE_SIZE + 1);
        alone.close();
    }

    /** Adds shares with the tokens from 1 on. They have a lease: a node would release what it does not know. */
    private void share(String name, int count) {
        database.execute(
                "insert into lock_holder (name, fencing_token, owner, permits, acquired_at, expires_at) values "
                        + IntStream.rangeClosed(1, count)
                                .mapToObj(token ->
                                        "('%s', %d, 'share', 1, timestamp '2026-01-01 00:00:00', timestamp '2100-01-01 00:00:00')"
                                                .formatted(name, token))
                                .collect(Collectors.joining(", ")));
    }

    @Test
    void onlySharedLocksCostMoreStatements() {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        try (Bookkeeper counted = Bookkeeper.on(
                database.pool(pool -> pool.setDataSource(counting)), builder -> builder.withoutHousekeeping())) {
            LockAdmin asking = counted.locks().admin();
            LockHandle alone = acquire(LockRequest.of("alone"));
            assertThat(statements(counting, () -> asking.held("", 10))).isEqualTo(1);
            assertThat(statements(counting, () -> asking.holders("alone"))).isEqualTo(1);
            acquire(shared("no more")).close();
            assertThat(statements(counting, () -> asking.held("", 10))).isEqualTo(1);
            LockHandle one = acquire(shared("together"));
            LockHandle other = acquire(shared("together, too"));
            assertThat(statements(counting, () -> asking.held("", 10))).isEqualTo(2);
            assertThat(statements(counting, () -> asking.holders("together"))).isEqualTo(2);
            assertThat(statements(counting, () -> asking.forceRelease("together", "to count")))
                    .isEqualTo(8);
            List.of(alone, one, other).forEach(LockHandle::release);
        }
    }

    private static int statements(CountingDataSource counting, Runnable work) {
        int before = counting.statements();
        work.run();
        return counting.statements() - before;
    }

    @Test
    void sharesAreNoPermits() {
        LockHandle share = acquire(SHARED);
        assertThat(admin.semaphores().permits("prices")).isEmpty();
        assertThat(admin.semaphores().permits(List.of("prices"), 10)).isEmpty();
        assertThat(admin.semaphores().find("prices")).isEmpty();
        assertThat(admin.semaphores().forceRelease("prices", share.fencingToken(), "stuck"))
                .isEmpty();
        LockHandle permit = mine.semaphore(SemaphoreRequest.of("exports").limit(2))
                .tryAcquire()
                .orElseThrow();
        assertThat(admin.forceRelease("exports", "stuck")).isEmpty();
        assertThat(admin.forceRelease("exports", permit.fencingToken(), "stuck"))
                .isEmpty();
        assertThat(share.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }

    // Forced releases

    @Test
    void oneShareIsTakenAwayAndTheOthersStay() throws Exception {
        LockHandle stuck = acquire(SHARED);
        LockHandle other = acquire(WITH_LEASE);
        List<LockLost> losses = new CopyOnWriteArrayList<>();
        stuck.onLost(losses::add);
        LockInfo former =
                admin.forceRelease("prices", stuck.fencingToken(), "stuck").orElseThrow();
        assertThat(former.owner()).isEqualTo(stuck.owner());
        assertThat(former.mode()).isEqualTo(LockMode.SHARED);
        assertThat(tokens(admin.holders("prices"))).containsExactly(other.fencingToken());
        await().atMost(SOON).until(() -> !losses.isEmpty());
        assertThat(losses).singleElement().extracting(LockLost::cause).isEqualTo(LossCause.FORCED);
        assertThat(stuck.state()).isEqualTo(LockState.LOST);
        assertThat(other.state()).isEqualTo(LockState.HELD);
        assertThat(theirs.tryAcquire(ALONE)).as("while another one shares it").isEmpty();
        theirs.tryAcquire(SHARED).orElseThrow().close();
        assertThat(stuck.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(other.release()).isEqualTo(ReleaseOutcome.RELEASED);
        theirs.acquire(ALONE.waitAtMost(SOON)).close();
        assertThat(records("action = 'FORCED_RELEASE' and permits = 1 and reason = 'stuck' and owner = '"
                        + former.owner() + "' and node_id is not null"))
                .isEqualTo(1);
        assertThat(records("1 = 1")).isEqualTo(1);
    }

    @Test
    void allSharesAreTakenAwayAndNobodyHasItAloneBeforeTheyMustHaveNoticed() throws Exception {
        LockHandle one = acquire(SHARED);
        LockHandle two = acquire(WITH_LEASE);
        LockHandle three = acquire(SHARED);
        assertThat(three.fencingToken()).as("one has it for three too").isEqualTo(one.fencingToken());
        List<LockHandle> all = List.of(one, two, three);
        LockInfo former = admin.forceRelease("prices", "stuck").orElseThrow();
        assertThat(former.fencingToken()).isEqualTo(one.fencingToken());
        assertThat(admin.holders("prices")).isEmpty();
        assertThat(admin.held("", 10)).isEmpty();
        assertThat(mine.find("prices")).isEmpty();
        assertThat(holders()).as("rows that count").isEqualTo(2);
        Future<LockHandle> waiting = threads.submit(() -> theirs.acquire(ALONE.waitAtMost(SOON)));
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> two.renew(ofMinutes(5)));
        await().atMost(SOON).until(() -> one.state() == LockState.LOST && three.state() == LockState.LOST);
        assertThat(waiting).as("before the lease is over").isNotDone();
        database.execute("update lock_holder set expires_at = acquired_at where fencing_token = " + two.fencingToken());
        LockHandle alone = get(waiting);
        assertThat(all).allMatch(share -> share.state() == LockState.LOST);
        assertThat(all).allMatch(share -> share.release() == ReleaseOutcome.LOST);
        alone.close();
        assertThat(records("action = 'FORCED_RELEASE' and permits = 1 and reason = 'stuck' and done_by like '"
                        + admin.process().replace("'", "''") + "%'"))
                .isEqualTo(2);
    }

    @Test
    void aNodeHasAWholeLeaseToNotice() throws Exception {
        LockHandle share = acquire(SHARED);
        Instant before = admin.databaseClock();
        assertThat(admin.forceRelease("prices", "stuck")).isPresent();
        assertThat(theirs.tryAcquire(ALONE)).as("before it must have noticed").isEmpty();
        LockHandle alone = theirs.acquire(ALONE.waitAtMost(SOON));
        assertThat(share.state()).isEqualTo(LockState.LOST);
        assertThat(admin.holders("prices").get(0).acquiredAt()).isAfterOrEqualTo(before.plus(NODE_LEASE));
        alone.close();
        share.release();
    }

    @Test
    void aTransactionUnderAShareDoesNotCommit() {
        LockHandle share = acquire(SHARED);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> books.inTransaction(em -> {
                    Ledger.post(em, share.fencingToken(), () -> {});
                    assertThat(admin.forceRelease("prices", "stuck")).isPresent();
                }));
        assertThat(ledger.faults(0)).isEmpty();
        assertThat(share.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void onlyTheShareThatIsMeantIsTakenAwayAndOnlyOnce() {
        LockHandle share = acquire(SHARED);
        long token = share.fencingToken();
        assertThat(admin.forceRelease("prices", token + 1, "stuck")).isEmpty();
        assertThat(admin.forceRelease("costs", token, "stuck")).isEmpty();
        assertThat(share.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(admin.forceRelease("prices", token, "stuck")).isEmpty();
        assertThat(admin.forceRelease("prices", "stuck")).as("nobody shares it").isEmpty();
        LockHandle next = acquire(SHARED);
        assertThat(admin.forceRelease("prices", token, "stuck")).isEmpty();
        assertThat(admin.forceRelease("prices", next.fencingToken(), "stuck")).isPresent();
        assertThat(admin.forceRelease("prices", next.fencingToken(), "stuck")).isEmpty();
        assertThat(admin.forceRelease("prices", "stuck")).isEmpty();
        assertThat(records("1 = 1")).isEqualTo(1);
        next.release();
    }

    @Test
    void aClosedServiceTellsNoHolders() {
        try (Bookkeeper closed = Bookkeeper.on(database.pool(pool -> {}), builder -> builder)) {
            LockAdmin closing = closed.locks().admin();
            closed.locks().close();
            assertThatIllegalStateException()
                    .isThrownBy(() -> closing.holders("prices"))
                    .withMessageContaining("closed");
        }
    }
}
