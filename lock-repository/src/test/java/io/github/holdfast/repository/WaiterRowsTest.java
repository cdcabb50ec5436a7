package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.WaiterRows.Ticket;
import io.github.holdfast.repository.WaiterRows.WaitMode;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of the waiters: which of them count, and what each call costs. */
@Tag(OnEachDatabase.EVERYWHERE)
@OnEachDatabase
class WaiterRowsTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private Database database;
    private TestApplication application;
    private WaiterRows waiters;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
        database.execute(
                "delete from distributed_lock",
                "delete from lock_node",
                "delete from lock_waiter",
                "delete from lock_holder");
        waiters = application.store().waiters(LEASE);
    }

    @AfterEach
    void close() {
        application.close();
    }

    private static Ticket ticket(String name, String nodeId) {
        return new Ticket(name, 1_700_000_000_123_456L, "waiter of " + nodeId, nodeId, WaitMode.EXCLUSIVE, false);
    }

    private void node(String id) {
        application.call(locks -> {
            application.store().nodes().register(id, LEASE, null);
            return application.store().nodes().markWaiting(id, LEASE, null);
        });
    }

    private long rows() {
        return database.queryForLong("select count(*) from lock_waiter");
    }

    @Test
    void aTicketIsAddedOnceAndRemoved() {
        Ticket ticket = ticket("job", "node");
        waiters.add(ticket);
        waiters.add(ticket);
        assertThat(rows()).isEqualTo(1);
        assertThat(database.queryForLong("select since from lock_waiter where name = 'job' and node_id = 'node'"))
                .isEqualTo(ticket.since());
        waiters.remove(new Ticket("job", ticket.since() + 1, ticket.id(), ticket.nodeId(), WaitMode.EXCLUSIVE, false));
        assertThat(rows()).isEqualTo(1);
        waiters.remove(ticket);
        waiters.remove(ticket);
        assertThat(rows()).isZero();
    }

    @Test
    void allTicketsOfANodeForOneLockAreRemoved() {
        waiters.add(ticket("job", "node"));
        waiters.add(ticket("job", "other"));
        waiters.add(ticket("another", "node"));
        waiters.removeAll("job", "node");
        assertThat(rows()).isEqualTo(2);
        assertThat(database.queryForLong("select count(*) from lock_waiter where name = 'job' and node_id = 'node'"))
                .isZero();
    }

    @Test
    void nodesAreCountedOnceAndWithoutTheCallers() {
        node("own");
        node("one");
        node("two");
        waiters.add(ticket("job", "own"));
        waiters.add(ticket("job", "one"));
        waiters.add(new Ticket("job", 5, "second", "one", WaitMode.EXCLUSIVE, false));
        waiters.add(ticket("job", "two"));
        waiters.add(ticket("another", "three"));
        assertThat(waiters.countOtherNodes("job", "own")).isEqualTo(2);
        assertThat(waiters.countOtherNodes("job", "")).isEqualTo(3);
        assertThat(waiters.countOtherNodes("nobody waits for this", "")).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "delete from lock_node",
                "update lock_node set ended = true",
                "update lock_node set waits_until = null",
                "update lock_node set waits_until = started_at"
            })
    void ticketsOfNodesThatNoLongerWaitDoNotCount(String sql) {
        node("other");
        waiters.add(ticket("job", "other"));
        assertThat(waiters.countOtherNodes("job", "own")).isEqualTo(1);
        database.execute(sql);
        assertThat(waiters.countOtherNodes("job", "own")).isZero();
    }

    // Which locks are available

    /** A lock that nobody has held. */
    private void lock(String name) {
        application.store().autocommit(LEASE).createIfMissing(name);
    }

    private void lock(String name, String changes) {
        lock(name);
        database.execute("update distributed_lock set " + changes + " where name = '" + name + "'");
    }

    /** The database's clock, and so many seconds. */
    private String clock(int seconds) {
        return switch (database.kind()) {
            case MYSQL, MARIADB -> "utc_timestamp(6) + interval " + seconds + " second";
            default -> "current_timestamp + interval '" + seconds + "' second";
        };
    }

    private String heldThrough(String nodeId) {
        return "owner = 'somebody', hold_count = 1, expires_at = null, node_id = '" + nodeId + "'";
    }

    private String heldUntil(int seconds) {
        return "owner = 'somebody', hold_count = 1, node_id = null, expires_at = " + clock(seconds);
    }

    private List<String> available(Duration tolerance, String... names) {
        return waiters.available(List.of(names), tolerance);
    }

    @Test
    void aLockIsAvailableThatNobodyHolds() {
        lock("free");
        lock("free again", "available_at = " + clock(-1));
        lock("not yet", "available_at = " + clock(60));
        assertThat(available(Duration.ZERO, "free", "free again", "not yet", "without a row"))
                .containsExactlyInAnyOrder("free", "free again", "without a row");
    }

    @Test
    void aLockIsAvailableWhoseLeaseHasBeenOverForLongEnough() {
        lock("over", heldUntil(-10));
        lock("running", heldUntil(60));
        lock("over, but not yet available", heldUntil(-10) + ", available_at = " + clock(60));
        String[] names = {"over", "running", "over, but not yet available"};
        assertThat(available(Duration.ZERO, names)).containsExactly("over");
        assertThat(available(Duration.ofSeconds(9), names)).containsExactly("over");
        assertThat(available(Duration.ofSeconds(60), names)).isEmpty();
    }

    @Test
    void aLockIsAvailableWhoseNodeIsDead() {
        for (String id : List.of("alive", "ended", "overdue", "ended early")) {
            node(id);
            lock("of one that is " + id, heldThrough(id));
        }
        lock("of one that is absent", heldThrough("absent"));
        lock("of one that has just gone", heldThrough("absent").replace("null", clock(30)));
        lock("of one that is long gone", heldThrough("absent").replace("null", clock(-70)));
        database.execute(
                "update lock_node set ended = true, waits_until = started_at where id = 'ended'",
                "update lock_node set expires_at = " + clock(-10) + " where id = 'overdue'");
        database.execute("update lock_node set ended = true where id = 'ended early'");
        String[] names = {
            "of one that is alive",
            "of one that is ended",
            "of one that is overdue",
            "of one that is absent",
            "of one that is ended early",
            "of one that has just gone",
            "of one that is long gone"
        };
        assertThat(available(Duration.ZERO, names)).containsExactlyInAnyOrder(names[1], names[2], names[3], names[6]);
        assertThat(available(Duration.ofSeconds(60), names)).containsExactlyInAnyOrder(names[1], names[3], names[6]);
    }

    /** Of a lock that several hold, each through a node or with a lease. */
    private void holder(String name, int token, int permits, String until) {
        String nodeId = until.contains(" ") ? "null" : "'" + until + "'";
        String expiresAt = until.contains(" ") ? until : "null";
        database.execute(
                "insert into lock_holder (name, fencing_token, owner, node_id, expires_at, permits, guard_count, acquired_at)"
                        + " values ('" + name + "', " + token + ", 'owner " + token + "', " + nodeId + ", " + expiresAt
                        + ", " + permits
                        + ", 0, " + clock(-60) + ")");
    }

    @Test
    void aSemaphoreIsAvailableIfLivingHoldersLeaveAPermit() {
        for (String id : List.of("alive", "overdue", "ended")) {
            node(id);
        }
        database.execute(
                "update lock_node set ended = true, waits_until = started_at where id = 'ended'",
                "update lock_node set expires_at = " + clock(-10) + " where id = 'overdue'");
        String[] names = {"unused", "full", "one left", "full by a lease", "of dead holders"};
        for (String name : names) {
            lock(name, "owner = '*', hold_count = -1, expires_at = null, permits = 2");
        }
        holder("full", 1, 1, "alive");
        holder("full", 2, 1, "alive");
        holder("one left", 1, 1, "alive");
        holder("full by a lease", 1, 1, "alive");
        holder("full by a lease", 2, 1, clock(30));
        holder("of dead holders", 1, 1, "overdue");
        holder("of dead holders", 2, 1, clock(-10));
        holder("of dead holders", 3, 2, "ended");

        assertThat(available(Duration.ZERO, names)).containsExactlyInAnyOrder("unused", "one left", "of dead holders");
        assertThat(available(Duration.ofSeconds(60), names)).containsExactlyInAnyOrder("unused", "one left");
    }

    @Test
    void aSharedLockIsAvailableIfNobodyWantsItOrNoHolderLives() {
        node("alive");
        node("overdue");
        database.execute("update lock_node set expires_at = " + clock(-10) + " where id = 'overdue'");
        String shared = "owner = '*', hold_count = -1, expires_at = null, wanted_until = ";
        lock("not wanted", shared + "null");
        lock("wanted once", shared + clock(-1));
        lock("wanted", shared + clock(60));
        lock("without holders", shared + clock(60));
        lock("of dead holders", shared + clock(60));
        lock("wanted, by a lease", shared + clock(60));
        for (String name : List.of("not wanted", "wanted once", "wanted")) {
            holder(name, 1, 1, "alive");
        }
        holder("wanted", 2, 1, "overdue");
        holder("of dead holders", 1, 1, "overdue");
        holder("wanted, by a lease", 1, 1, clock(30));
        String[] names = {
            "not wanted", "wanted once", "wanted", "without holders", "of dead holders", "wanted, by a lease"
        };

        assertThat(available(Duration.ZERO, names))
                .containsExactlyInAnyOrder("not wanted", "wanted once", "without holders", "of dead holders");
        assertThat(available(Duration.ofSeconds(60), names))
                .containsExactlyInAnyOrder("not wanted", "wanted once", "without holders");
    }

    /** The row of a holder may outlive its share: housekeeping removes it later. */
    @Test
    void aLockThatIsNoLongerSharedDoesNotCountFormerHolders() {
        node("alive");
        lock("free", "wanted_until = " + clock(60));
        lock("over", heldUntil(-10) + ", wanted_until = " + clock(60));
        holder("free", 1, 1, "alive");
        holder("over", 1, 1, "alive");
        assertThat(available(Duration.ZERO, "free", "over")).containsExactlyInAnyOrder("free", "over");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 8, 9, WaiterRows.MOST_NAMES})
    void oneStatementLooksAtManyLocks(int count) {
        List<String> names = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            names.add("it's \\ " + number + " ?");
        }
        names.forEach(this::lock);
        String last = names.get(count - 1);
        database.execute("update distributed_lock set " + heldUntil(60));
        application.call(locks -> {
            for (String free : new HashSet<>(List.of(names.get(0), last))) {
                LockEntity held = locks.read(free).orElseThrow().row();
                assertThat(locks.release(held, held.withHoldCount(0))).isTrue();
            }
            return locks;
        });
        CountingDataSource counting = application.dataSource();
        counting.reset();
        assertThat(waiters.available(names, Duration.ZERO))
                .hasSameElementsAs(new HashSet<>(List.of(names.get(0), last)));
        assertThat(counting.statements()).isEqualTo(1);
    }

    @Test
    void eachCallIsOneStatement() {
        assertOneStatement(() -> waiters.add(ticket("job", "node")));
        assertOneStatement(() -> waiters.remove(ticket("job", "node")));
        assertOneStatement(() -> waiters.removeAll("job", "node"));
        assertOneStatement(
                () -> assertThat(waiters.countOtherNodes("job", "node")).isZero());
    }

    private void assertOneStatement(Runnable call) {
        CountingDataSource counting = application.dataSource();
        counting.reset();
        call.run();
        assertThat(counting.statements()).isEqualTo(1);
        assertThat(counting.sql()).allSatisfy(sql -> assertThat(sql).contains("lock_waiter"));
    }
}
