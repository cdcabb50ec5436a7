package io.github.holdfast.service.fence;

import static org.awaitility.Awaitility.await;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.fence.Hold.Trait;
import io.github.holdfast.test.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * A way to lose a lock in the middle of a transaction.
 *
 * @param wanting why a way to hold cannot be lost in this way; empty if it can
 * @param databases those that have it
 * @param act what happens
 */
record Loss(String name, Function<Hold, Optional<String>> wanting, Predicate<TestDatabase> databases, Act act) {

    /** What happens to a lock. */
    @FunctionalInterface
    interface Act {
        void happen(Trial trial) throws Exception;
    }

    private static final String NODE = "select node_id from distributed_lock where name = '%1$s' union"
            + " select node_id from lock_holder where name = '%1$s'";

    static final Loss NONE = of("none", trial -> {});

    static final Loss LEASE_OVER = of(
                    "lease over",
                    trial -> trial.execute(
                            "update distributed_lock set expires_at = expires_at - interval '1' day where name = '%s'",
                            "update lock_holder set expires_at = expires_at - interval '1' day where name = '%s'"))
            .needs(Trait.LEASE, "it has no lease");

    static final Loss NODE_ENDED = of(
                    "node ended",
                    trial -> trial.execute(
                            "update lock_node set ended = " + (isMysqlLike(trial.kind()) ? "b'1'" : "true")
                                    + ", expires_at = expires_at - interval '1' day where id in (" + NODE + ")"))
            .needs(Trait.NODE, "it does not depend on a node");

    static final Loss SESSION_KILLED = of("session killed", trial -> trial.kill(trial.victim()));

    static final Loss IDLE_IN_TRANSACTION = of(
                    "idle in transaction",
                    trial -> trial.setAndAwaitEnd(trial.victim(), "set idle_in_transaction_session_timeout = 50"))
            .only(kind -> kind == TestDatabase.POSTGRESQL);

    static final Loss DDL = of("implicit commit", trial -> execute(trial.victim(), Trial.DDL))
            .onlyCallersRowLock()
            .only(kind -> kind != TestDatabase.POSTGRESQL);

    static final Loss DEADLOCK =
            of("caught deadlock", Loss::deadlock).onlyCallersRowLock().only(kind -> kind != TestDatabase.POSTGRESQL);

    static final Loss SAVEPOINT = of("savepoint", Trial::rollBackToSavepoint).onlyCallersRowLock();

    static final Loss SAVEPOINT_AND_AGAIN =
            of("savepoint, again", Trial::rollBackToSavepoint).onlyCallersRowLock();

    static final Loss FORCED = of("forced release", trial -> {
        trial.forceRelease();
        trial.execute(
                "update distributed_lock set expires_at = expires_at - interval '1' day,"
                        + " available_at = available_at - interval '1' day where name = '%s'",
                "update lock_holder set expires_at = expires_at - interval '1' day where name = '%s'");
    });

    static final Loss CLOSED = of(
            "service closed",
            trial -> trial.elsewhere(() -> {
                trial.mine().close();
                return true;
            }));

    /** The tables, and which of their rows belong to a lock. No grant depends on the last three, so they share a loss. */
    private static final List<Map<String, String>> TABLES = List.of(
            Map.of("distributed_lock", "name = '%s'"),
            Map.of("lock_holder", "name = '%s'"),
            Map.of("lock_node", "id in (" + NODE + ")"),
            Map.of("lock_waiter", "name = '%s'", "lock_audit", "lock_name = '%s'", "lock_run", "name = '%s'"));

    static List<Loss> all() {
        Stream<Loss> others = Stream.of(
                LEASE_OVER,
                NODE_ENDED,
                SESSION_KILLED,
                IDLE_IN_TRANSACTION,
                DDL,
                DEADLOCK,
                SAVEPOINT,
                SAVEPOINT_AND_AGAIN,
                FORCED,
                CLOSED);
        return Stream.concat(others, TABLES.stream().flatMap(Loss::ofTables)).toList();
    }

    private static Stream<Loss> ofTables(Map<String, String> tables) {
        String which = tables.size() == 1 ? tables.keySet().iterator().next() : "other";
        return Stream.of(
                of(
                        which + " deleted",
                        trial -> tables.forEach(
                                (table, rows) -> trial.execute("delete from " + table + " where " + rows))),
                of(
                        which + " truncated",
                        trial -> tables.keySet().forEach(table -> trial.execute("truncate table " + table))),
                of(which + " recreated", trial -> {
                    tables.keySet().forEach(table -> trial.execute("drop table " + table));
                    LockSchema.on(trial.dataSource()).createIfMissing();
                }));
    }

    private static Loss of(String name, Act act) {
        return new Loss(name, hold -> Optional.empty(), kind -> true, act);
    }

    private Loss needs(Trait trait, String otherwise) {
        return new Loss(name, hold -> hold.is(trait) ? Optional.empty() : Optional.of(otherwise), databases, act);
    }

    private Loss onlyCallersRowLock() {
        return new Loss(
                name,
                hold -> hold == Hold.CALLERS_ROW_LOCK
                        ? Optional.empty()
                        : Optional.of("no lock ends by what the application does to its transaction"),
                databases,
                act);
    }

    private Loss only(Predicate<TestDatabase> kinds) {
        return new Loss(name, wanting, kinds, act);
    }

    /** Whether a savepoint comes before the acquisition. */
    boolean isOfSavepoint() {
        return equals(SAVEPOINT) || equals(SAVEPOINT_AND_AGAIN);
    }

    /** Whether the table of the locks is emptied or made again, which some databases do beside a row lock. */
    boolean takesTheTable() {
        return name.equals("distributed_lock truncated") || name.equals("distributed_lock recreated");
    }

    /** Whether the service is not to be used any more: its node is gone, or it is closed. */
    boolean isOfService() {
        return equals(CLOSED) || name.contains("node") || name.contains("recreated");
    }

    private static boolean isMysqlLike(TestDatabase kind) {
        return kind == TestDatabase.MYSQL || kind == TestDatabase.MARIADB;
    }

    /** The other one has changed more rows, so it is the holder that is rolled back. */
    private static void deadlock(Trial trial) throws Exception {
        execute(trial.victim(), "update deadlocked set n = n + 1 where id = 1");
        CountDownLatch isHeavy = new CountDownLatch(1);
        try (Connection other = trial.dataSource().getConnection()) {
            other.setAutoCommit(false);
            Future<?> waiting = trial.onAnotherThread(() -> {
                execute(other, "update deadlocked set n = n + 1 where id > 1");
                isHeavy.countDown();
                execute(other, "update deadlocked set n = n + 1 where id = 1");
                return true;
            });
            isHeavy.await();
            try {
                execute(trial.victim(), "update deadlocked set n = n + 1 where id = 2");
            } catch (SQLException caught) {
                // The application carries on.
            }
            await().atMost(Duration.ofSeconds(60)).until(waiting::isDone);
            other.rollback();
        }
    }

    static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public String toString() {
        return name;
    }
}
