package io.github.holdfast.repository.rows;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.rows.WaiterRows.Ticket;
import io.github.holdfast.repository.rows.WaiterRows.WaitMode;
import io.github.holdfast.repository.store.StoreContract;
import java.time.Duration;
import java.time.Instant;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The rows of the waiters: which of them count. */
abstract class WaiterRowsContract extends StoreContract {

    static final Duration LEASE = Duration.ofSeconds(30);

    WaiterRows waiters;

    @BeforeEach
    void openRows() {
        waiters = application.store().waiters(LEASE);
    }

    static Ticket ticket(String name, String nodeId) {
        return new Ticket(name, 1_700_000_000_123_456L, "waiter of " + nodeId, nodeId, WaitMode.EXCLUSIVE, false);
    }

    private void node(String id) {
        application.call(locks -> {
            application.store().nodes().register(id, LEASE, null);
            return application.store().nodes().markWaiting(id, LEASE, null);
        });
    }

    private long rows() {
        return application.tables().count("HoldfastWaiter");
    }

    @Test
    void aTicketIsAddedOnceAndRemoved() {
        Ticket ticket = ticket("job", "node");
        waiters.add(ticket);
        waiters.add(ticket);
        assertThat(rows()).isEqualTo(1);
        assertThat(application.tables().count("HoldfastWaiter", Map.of("name", "job", "since", ticket.since())))
                .isEqualTo(1);
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
        assertThat(application.tables().count("HoldfastWaiter", Map.of("name", "job", "nodeId", "node")))
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

    @Test
    void ticketsOfNodesThatNoLongerWaitDoNotCount() {
        assertNoLongerWaits(() -> application.tables().delete("HoldfastNode"));
        assertNoLongerWaits(() -> application.tables().update("HoldfastNode", Map.of("ended", true)));
        assertNoLongerWaits(
                () -> application.tables().update("HoldfastNode", Collections.singletonMap("waitsUntil", null)));
        assertNoLongerWaits(() -> application.tables().update("HoldfastNode", Map.of("waitsUntil", clock(-1))));
    }

    private void assertNoLongerWaits(Runnable change) {
        application.tables().clear();
        node("other");
        waiters.add(ticket("job", "other"));
        assertThat(waiters.countOtherNodes("job", "own")).isEqualTo(1);
        change.run();
        assertThat(waiters.countOtherNodes("job", "own")).isZero();
    }

    // Which locks are available

    /** A lock that nobody has held. */
    void lock(String name) {
        application.store().autocommit(LEASE).createIfMissing(name);
    }

    private void lock(String name, Map<String, ?> changes) {
        lock(name);
        application.tables().update("HoldfastLock", changes, Map.of("name", name));
    }

    /** The database's clock, and so many seconds. */
    private Instant clock(int seconds) {
        return application.clock().plusSeconds(seconds);
    }

    /** Held by a grant through a node that wrote no end of its own. */
    private static Map<String, ?> heldThrough(String nodeId) {
        return heldThrough(nodeId, null);
    }

    private static Map<String, ?> heldThrough(String nodeId, @Nullable Instant expiresAt) {
        Map<String, @Nullable Object> held = new HashMap<>();
        held.put("owner", "somebody");
        held.put("holdCount", 1);
        held.put("expiresAt", expiresAt);
        held.put("nodeId", nodeId);
        return held;
    }

    final Map<String, ?> heldUntil(int seconds) {
        return Map.of("owner", "somebody", "holdCount", 1, "expiresAt", clock(seconds));
    }

    /** Shared, or a semaphore. */
    private static Map<String, ?> shared(String column, @Nullable Object value) {
        Map<String, @Nullable Object> shared = new HashMap<>();
        shared.put("owner", "*");
        shared.put("holdCount", -1);
        shared.put("expiresAt", null);
        shared.put(column, value);
        return shared;
    }

    private static Map<String, ?> with(Map<String, ?> values, String column, Object value) {
        Map<String, @Nullable Object> more = new HashMap<>(values);
        more.put(column, value);
        return more;
    }

    final List<String> available(Duration tolerance, String... names) {
        return waiters.available(List.of(names), tolerance);
    }

    @Test
    void aLockIsAvailableThatNobodyHolds() {
        lock("free");
        lock("free again", Map.of("availableAt", clock(-1)));
        lock("not yet", Map.of("availableAt", clock(60)));
        assertThat(available(Duration.ZERO, "free", "free again", "not yet", "without a row"))
                .containsExactlyInAnyOrder("free", "free again", "without a row");
    }

    @Test
    void aLockIsAvailableWhoseLeaseHasBeenOverForLongEnough() {
        lock("over", heldUntil(-10));
        lock("running", heldUntil(60));
        lock("over, but not yet available", with(heldUntil(-10), "availableAt", clock(60)));
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
        lock("of one that has just gone", heldThrough("absent", clock(30)));
        lock("of one that is long gone", heldThrough("absent", clock(-70)));
        stop("ended");
        application.tables().update("HoldfastNode", Map.of("expiresAt", clock(-10)), Map.of("id", "overdue"));
        application.tables().update("HoldfastNode", Map.of("ended", true), Map.of("id", "ended early"));
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
    private void holder(String name, long token, int permits, Object until) {
        String end = until instanceof Instant ? "expiresAt" : "nodeId";
        application
                .tables()
                .insert(
                        "HoldfastHolder",
                        Map.of(
                                "name",
                                name,
                                "fencingToken",
                                token,
                                "owner",
                                "owner " + token,
                                end,
                                until,
                                "permits",
                                permits,
                                "guardCount",
                                0L,
                                "acquiredAt",
                                clock(-60)));
    }

    /** Ends a node as its own service does. */
    private void stop(String id) {
        int unused = application.call(locks -> application.store().nodes().stop(id, 0, 0));
    }

    @Test
    void aSemaphoreIsAvailableIfLivingHoldersLeaveAPermit() {
        for (String id : List.of("alive", "overdue", "ended")) {
            node(id);
        }
        stop("ended");
        application.tables().update("HoldfastNode", Map.of("expiresAt", clock(-10)), Map.of("id", "overdue"));
        String[] names = {"unused", "full", "one left", "full by a lease", "of dead holders"};
        for (String name : names) {
            lock(name, shared("permits", 2));
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
        application.tables().update("HoldfastNode", Map.of("expiresAt", clock(-10)), Map.of("id", "overdue"));
        lock("not wanted", shared("wantedUntil", null));
        lock("wanted once", shared("wantedUntil", clock(-1)));
        lock("wanted", shared("wantedUntil", clock(60)));
        lock("without holders", shared("wantedUntil", clock(60)));
        lock("of dead holders", shared("wantedUntil", clock(60)));
        lock("wanted, by a lease", shared("wantedUntil", clock(60)));
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
        lock("free", Map.of("wantedUntil", clock(60)));
        lock("over", with(heldUntil(-10), "wantedUntil", clock(60)));
        holder("free", 1, 1, "alive");
        holder("over", 1, 1, "alive");
        assertThat(available(Duration.ZERO, "free", "over")).containsExactlyInAnyOrder("free", "over");
    }
}
