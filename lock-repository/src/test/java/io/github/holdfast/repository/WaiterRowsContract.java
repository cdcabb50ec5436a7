package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.LockTables.WaiterRows;
import io.github.holdfast.repository.LockTables.WaiterRows.Ticket;
import io.github.holdfast.test.CountingDataSource;
import io.github.holdfast.test.Database;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The rows of the waiters: which of them count, and what each call costs. */
abstract class WaiterRowsContract {

    private static final Duration LEASE = Duration.ofSeconds(30);

    private Database database;
    private TestApplication application;
    private WaiterRows waiters;

    @BeforeEach
    void open(Database injected) {
        database = injected;
        application = TestApplication.on(database);
        database.execute("delete from lock_node", "delete from lock_waiter");
        waiters = application.store().waiters(LEASE);
    }

    @AfterEach
    void close() {
        application.close();
    }

    private static Ticket ticket(String name, String nodeId) {
        return new Ticket(name, 1_700_000_000_123_456L, "waiter of " + nodeId, nodeId, null);
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
        waiters.remove(new Ticket("job", ticket.since() + 1, ticket.id(), ticket.nodeId(), null));
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
        waiters.add(new Ticket("job", 5, "second", "one", "a thread"));
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
