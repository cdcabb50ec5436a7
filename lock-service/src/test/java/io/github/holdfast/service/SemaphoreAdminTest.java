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
import io.github.holdfast.lock.LockLost;
import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.LockState;
import io.github.holdfast.lock.LossCause;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.semaphore.PermitInfo;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What operators see of semaphores, and what they change. */
@OnEachDatabase
class SemaphoreAdminTest extends AdminContract {

    private static final SemaphoreRequest REQUEST =
            SemaphoreRequest.of("exports").limit(2).waitAtMost(SOON);
    private static final SemaphoreRequest WITH_LEASE = REQUEST.lease(ofMinutes(1));

    private SemaphoreAdmin semaphores;

    SemaphoreAdminTest() {
        super("exports");
    }

    @BeforeAll
    void openSemaphores() {
        semaphores = admin.semaphores();
    }

    private LockHandle acquire(SemaphoreRequest request) {
        return mine.semaphore(request).tryAcquire().orElseThrow();
    }

    private Future<LockHandle> acquiring(SemaphoreRequest request) {
        return threads.submit(() -> mine.semaphore(request).acquire());
    }

    // What is there

    @Test
    void theAdministrationIsAlwaysTheSame() {
        assertThat(admin.semaphores()).isSameAs(semaphores);
    }

    @Test
    void semaphoresAndTheirHoldersAreTold() {
        assertThat(semaphores.permits("exports")).isEmpty();
        Instant before = admin.databaseClock();
        LockHandle one = acquire(REQUEST.limit(4));
        LockHandle two = acquire(WITH_LEASE.permits(2).limit(4));
        LockHandle lock = mine.acquireUninterruptibly(LockRequest.of("lock"));
        assertThat(semaphores.page("", 10)).containsExactly(new SemaphoreInfo("exports", 4, 3));
        assertThat(semaphores.page("", 10).get(0).available()).isEqualTo(1);
        List<PermitInfo> holders = semaphores.permits("exports");
        assertThat(holders)
                .extracting(PermitInfo::fencingToken, PermitInfo::permits, PermitInfo::owner)
                .containsExactly(tuple(one.fencingToken(), 1, one.owner()), tuple(two.fencingToken(), 2, two.owner()));
        assertThat(holders).allSatisfy(holder -> {
            assertThat(holder.name()).isEqualTo("exports");
            assertThat(holder.holder()).startsWith(mine.admin().process());
            assertThat(holder.acquiredAt()).isBetween(before, admin.databaseClock());
            assertThat(holder.expiresIn()).isBetween(ofMillis(1), ofMinutes(1));
        });
        assertThat(holders.get(0).nodeId()).isNotNull();
        assertThat(holders.get(1).nodeId()).isNull();
        assertThat(semaphores.permits("lock")).isEmpty();
        one.close();
        two.close();
        lock.close();
        assertThat(semaphores.page("", 10)).containsExactly(new SemaphoreInfo("exports", 4, 0));
        assertThat(semaphores.page("exports", 10)).isEmpty();
    }

    @Test
    void oneSemaphoreIsFoundByItsName() {
        assertThat(semaphores.find("exports")).isEmpty();
        LockHandle both = acquire(REQUEST.permits(2).limit(3));
        LockHandle lock = mine.acquireUninterruptibly(LockRequest.of("lock"));
        assertThat(semaphores.find("exports")).contains(new SemaphoreInfo("exports", 3, 2));
        assertThat(semaphores.find("lock")).isEmpty();
        both.close();
        lock.close();
        assertThat(semaphores.find("exports")).contains(new SemaphoreInfo("exports", 3, 0));
        assertThatIllegalArgumentException().isThrownBy(() -> semaphores.find(""));
    }

    @Test
    void holdersOfSeveralSemaphoresAreTold() {
        LockHandle one = acquire(REQUEST);
        LockHandle other = acquire(SemaphoreRequest.of("imports").limit(1));
        List<String> names = List.of("imports", "exports", "none");
        assertThat(semaphores.permits(names, 10))
                .extracting(PermitInfo::name, PermitInfo::fencingToken)
                .containsExactly(tuple("exports", one.fencingToken()), tuple("imports", other.fencingToken()));
        assertThat(semaphores.permits(names, 1)).extracting(PermitInfo::name).containsExactly("exports");
        database.execute("update lock_holder set node_id = null, expires_at = acquired_at where name = 'exports'");
        assertThat(semaphores.permits(names, 10)).extracting(PermitInfo::name).containsExactly("imports");
        assertThat(semaphores.permits(List.of(), 10)).isEmpty();
        other.close();
        assertThat(semaphores.permits(List.of("imports"), 10)).isEmpty();
        one.close();
        List<String> many = Collections.nCopies(LockAdmin.MAX_PAGE_SIZE + 1, "exports");
        assertThat(List.<ThrowingCallable>of(
                        () -> semaphores.permits(names, 0),
                        () -> semaphores.permits(names, LockAdmin.MAX_PAGE_SIZE + 1),
                        () -> semaphores.permits(List.of(""), 1),
                        () -> semaphores.permits(many, 1)))
                .allSatisfy(call -> assertThatIllegalArgumentException().isThrownBy(call));
    }

    @Test
    void deadHoldersAreUsedPermitsButNoHolders() {
        LockHandle both = acquire(WITH_LEASE.permits(2));
        database.execute("update lock_holder set expires_at = acquired_at");
        assertThat(semaphores.permits("exports")).isEmpty();
        assertThat(semaphores.page("", 10)).containsExactly(new SemaphoreInfo("exports", 2, 2));
        both.close();
    }

    // Limits

    @Test
    void aLargerLimitServesThoseWhoWait() throws Exception {
        LockHandle both = acquire(REQUEST.permits(2));
        List<Future<LockHandle>> waiting = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            waiting.add(acquiring(REQUEST));
        }
        awaitWaiting(mine, 3);
        assertThat(semaphores.setPermits("exports", 5, " a new printer ")).hasValue(2);
        for (Future<LockHandle> granted : waiting) {
            get(granted).close();
        }
        both.close();
        assertThat(records("action = 'LIMIT_CHANGE' and permits = 5 and reason = 'a new printer' and owner is null"))
                .isEqualTo(1);
        assertThat(database.queryForLong("select count(*) from lock_audit where done_by like '"
                        + admin.process().replace("'", "''") + "%'"))
                .isEqualTo(1);
    }

    @Test
    void aSmallerLimitTakesNothingAwayAndZeroStopsAllGrants() throws Exception {
        LockHandle one = acquire(REQUEST);
        LockHandle other = acquire(REQUEST);
        assertThat(semaphores.setPermits("exports", 1, "less")).hasValue(2);
        one.close();
        assertThat(mine.semaphore(REQUEST).tryAcquire()).isEmpty();
        assertThat(other.state()).isEqualTo(LockState.HELD);
        assertThat(semaphores.page("", 10)).containsExactly(new SemaphoreInfo("exports", 1, 1));
        other.close();
        acquire(REQUEST).close();
        assertThat(semaphores.setPermits("exports", 0, "none")).hasValue(1);
        Future<LockHandle> waiting = acquiring(REQUEST);
        awaitWaiting(mine, 1);
        assertThat(mine.semaphore(REQUEST).tryAcquire()).isEmpty();
        assertThat(semaphores.setPermits("exports", 1, "again")).hasValue(0);
        get(waiting).close();
        assertThat(records("action = 'LIMIT_CHANGE'")).isEqualTo(3);
    }

    @Test
    void onlySemaphoresHaveALimit() {
        mine.acquireUninterruptibly(LockRequest.of("exports")).close();
        assertThat(semaphores.setPermits("exports", 3, "why not")).isEmpty();
        assertThat(semaphores.setPermits("unknown", 3, "why not")).isEmpty();
        assertThat(semaphores.page("", 10)).isEmpty();
        assertThat(records("1 = 1")).isZero();
    }

    @Test
    void whatIsWrongIsRefused() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> semaphores.setPermits("exports", -1, "why"))
                .withMessageContaining("0 permits or more, not -1");
        for (ThrowingCallable call : List.<ThrowingCallable>of(
                () -> semaphores.setPermits("", 1, "why"),
                () -> semaphores.setPermits("exports", 1, " "),
                () -> semaphores.permits(""),
                () -> semaphores.page("", 0),
                () -> semaphores.forceRelease("", 1, "why"),
                () -> semaphores.forceRelease("exports", 1, "two\nlines"))) {
            assertThatIllegalArgumentException().isThrownBy(call);
        }
    }

    @Test
    void aClosedServiceChangesNothing() {
        try (Bookkeeper closed = Bookkeeper.on(database.pool(pool -> {}), builder -> builder)) {
            SemaphoreAdmin closing = closed.locks().admin().semaphores();
            closed.locks().close();
            for (ThrowingCallable call : List.<ThrowingCallable>of(
                    () -> closing.setPermits("exports", 1, "why"),
                    () -> closing.permits("exports"),
                    () -> closing.permits(List.of(), 1),
                    () -> closing.find("exports"),
                    () -> closing.page("", 1),
                    () -> closing.forceRelease("exports", 1, "why"))) {
                assertThatIllegalStateException().isThrownBy(call).withMessageContaining("closed");
            }
        }
    }

    // Forced releases

    @Test
    void whoHoldsPermitsThroughItsNodeLosesThemSoonAndOnlyThenTheyAreFree() throws Exception {
        LockHandle stuck = acquire(REQUEST);
        LockHandle other = acquire(REQUEST);
        List<LockLost> losses = new CopyOnWriteArrayList<>();
        stuck.onLost(losses::add);
        PermitInfo former = semaphores
                .forceRelease("exports", stuck.fencingToken(), "stuck")
                .orElseThrow();
        assertThat(former.owner()).isEqualTo(stuck.owner());
        assertThat(former.permits()).isEqualTo(1);
        assertThat(semaphores.permits("exports")).extracting(PermitInfo::owner).containsExactly(other.owner());
        assertThat(theirs.semaphore(REQUEST).tryAcquire())
                .as("before it must have noticed")
                .isEmpty();
        LockHandle next = theirs.semaphore(REQUEST).acquire();
        assertThat(stuck.state()).isEqualTo(LockState.LOST);
        assertThat(other.state()).isEqualTo(LockState.HELD);
        await().atMost(SOON).until(() -> !losses.isEmpty());
        assertThat(losses).singleElement().extracting(LockLost::cause).isEqualTo(LossCause.FORCED);
        assertThat(stuck.release()).isEqualTo(ReleaseOutcome.LOST);
        next.close();
        other.close();
        assertThat(records("action = 'FORCED_RELEASE' and permits = 1 and reason = 'stuck' and owner = '"
                        + former.owner() + "' and node_id is not null"))
                .isEqualTo(1);
    }

    @Test
    void whoHoldsPermitsByALeaseNoticesWhenItAsks() {
        LockHandle both = acquire(WITH_LEASE.permits(2));
        assertThat(semaphores.forceRelease("exports", both.fencingToken(), "stuck"))
                .isPresent();
        assertThatExceptionOfType(LockLostException.class).isThrownBy(() -> both.renew(ofMinutes(5)));
        assertThat(both.state()).isEqualTo(LockState.LOST);
        assertThat(theirs.semaphore(REQUEST).tryAcquire())
                .as("before the lease is over")
                .isEmpty();
        database.execute("update lock_holder set expires_at = acquired_at");
        theirs.semaphore(REQUEST).tryAcquire().orElseThrow().close();
        assertThat(both.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void aTransactionUnderThePermitsDoesNotCommit() {
        LockHandle permit = acquire(REQUEST);
        assertThatExceptionOfType(LockLostException.class)
                .isThrownBy(() -> books.inTransaction(em -> {
                    Ledger.post(em, permit.fencingToken(), () -> {});
                    assertThat(semaphores.forceRelease("exports", permit.fencingToken(), "stuck"))
                            .isPresent();
                }));
        assertThat(ledger.faults(0)).isEmpty();
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.LOST);
    }

    @Test
    void onlyTheGrantThatIsMeantIsReleasedAndOnlyOnce() {
        LockHandle permit = acquire(REQUEST);
        long token = permit.fencingToken();
        assertThat(semaphores.forceRelease("exports", token + 1, "stuck")).isEmpty();
        assertThat(semaphores.forceRelease("imports", token, "stuck")).isEmpty();
        assertThat(permit.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(semaphores.forceRelease("exports", token, "stuck")).isEmpty();
        LockHandle next = acquire(REQUEST);
        assertThat(semaphores.forceRelease("exports", next.fencingToken(), "stuck"))
                .isPresent();
        assertThat(semaphores.forceRelease("exports", next.fencingToken(), "stuck"))
                .isEmpty();
        assertThat(records("1 = 1")).isEqualTo(1);
        next.release();
    }
}
