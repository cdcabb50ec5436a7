package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.repository.rows.LockNodeRepository;
import io.github.holdfast.repository.rows.TransactionalLockRows;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;

/**
 * A heartbeat is under way when the lease of its node ends: decided before, committed after, while somebody else takes the
 * node's lock over. If it is committed the holder has been told that it goes on holding the lock, so nobody else may.
 */
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class TakeoverTest {

    private static final int ROUNDS = 100;
    private static final int AT_ONCE = 20;

    /** Long enough that the beat of each of those rounds is in time. */
    private static final Duration NODE_LEASE = ofSeconds(2);

    /** Before that, nobody ends a node whose lease is over. */
    private static final Duration TOLERANCE = ofMillis(100);

    /** What a beat makes of it, so that whoever holds the lock then holds it when the round is judged. */
    private static final long BEATEN_LEASE_MICROS = 100_000_000;

    private static final Duration LIMIT = ofSeconds(60);
    private static final String HOLDER = "holder";
    private static final String TAKER = "taker";

    @Test
    void aBeatThatIsCommittedAfterTheEndOfItsLeaseLeavesTheLockToItsHolderAlone(Database database) throws Exception {
        try (Services services = Services.on(database);
                JavaProcess worker = NodeWorker.start(database, ofSeconds(30))) {
            List<Round> rounds = play(services, database, new OtherProcess(worker), ROUNDS);
            assertThat(rounds).hasSize(ROUNDS);
            assertThat(rounds)
                    .filteredOn(Round::isBeaten)
                    .hasSizeGreaterThan(ROUNDS / 2)
                    .allSatisfy(round -> {
                        assertThat(round.taken())
                                .as("granted to the other process")
                                .isFalse();
                        assertThat(round.after().owner()).isEqualTo(HOLDER);
                        assertThat(round.after().fencingToken())
                                .isEqualTo(round.granted().fencingToken());
                    });
            assertThat(rounds)
                    .filteredOn(round -> !round.isBeaten())
                    .hasSizeGreaterThan(ROUNDS / 10)
                    .allSatisfy(round -> {
                        assertThat(round.taken())
                                .as("granted to the other process")
                                .isTrue();
                        assertThat(round.after().fencingToken())
                                .isGreaterThan(round.granted().fencingToken());
                    });
        }
    }

    @Test
    void takenOverByOneStatementTheLockWouldBelongToTwo(Database database) throws Exception {
        try (Services services = Services.on(database)) {
            List<Round> rounds = play(services, database, new OneStatement(database), AT_ONCE);
            assertThat(rounds)
                    .as("or what is shown above would show nothing")
                    .filteredOn(round -> round.isBeaten() && round.taken())
                    .isNotEmpty()
                    .allSatisfy(round -> assertThat(round.after().owner()).isEqualTo(TAKER));
        }
    }

    /**
     * What became of a lock.
     *
     * @param granted the row of the first holder
     * @param isBeaten whether the beat is committed
     * @param taken whether the other one was granted the lock
     * @param after the row at last
     */
    private record Round(LockEntity granted, boolean isBeaten, boolean taken, LockEntity after) {}

    /** Somebody who takes a lock over if that is possible. */
    private interface Taker {
        /** Returns when it has begun; whether it was granted the lock is told later. */
        Future<Boolean> take(String name) throws Exception;
    }

    private static List<Round> play(Services services, Database database, Taker taker, int count) throws Exception {
        DataSource pool = database.pool(config -> config.setMaximumPoolSize(AT_ONCE + 1));
        LockStore store = LockStore.open(services.unit(pool));
        Services.emptyTables(database);
        List<Callable<Round>> games = new ArrayList<>();
        for (int round = 0; round < count; round++) {
            int number = round;
            games.add(() -> play(store, taker, number));
        }
        ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
        try {
            List<Round> rounds = new ArrayList<>();
            for (Future<Round> game : threads.invokeAll(games)) {
                rounds.add(game.get());
            }
            return rounds;
        } finally {
            threads.shutdownNow();
        }
    }

    /** One round; if the machine was too slow for a beat in time it is played again. */
    private static Round play(LockStore store, Taker taker, int number) throws Exception {
        for (int attempt = 1; attempt <= 20; attempt++) {
            Game game = new Game(store, number + "." + attempt);
            LockEntity granted = game.grant();
            CompletableFuture<Future<Boolean>> taking = new CompletableFuture<>();
            // Each fourth beat never comes to pass: the other one must notice that too.
            boolean isToBeCommitted = number % 4 != 3;
            boolean isBeaten = game.beat(isToBeCommitted, Duration.ofMillis(number % 5 * 15L), () -> {
                taking.complete(taker.take(game.name));
                return null;
            });
            if (taking.isDone()) {
                boolean taken = taking.join().get(LIMIT.toSeconds(), TimeUnit.SECONDS);
                return new Round(granted, isBeaten, taken, game.row());
            }
        }
        throw new AssertionError("No beat was in time");
    }

    private static final class Game {

        private final LockStore store;
        private final String name;
        private final String nodeId;

        Game(LockStore store, String key) {
            this.store = store;
            this.name = "taken-" + key;
            this.nodeId = "node-" + key;
        }

        LockEntity grant() {
            store.inTransaction(LIMIT, locks -> locks.createIfMissing(name));
            return store.inTransaction(LIMIT, locks -> {
                store.nodes().register(nodeId, NODE_LEASE, null);
                LockEntity free = locks.read(name).orElseThrow().row();
                LockEntity granted = free.granted(HOLDER, nodeId, null);
                assertThat(locks.grant(free, granted, null, null)).isTrue();
                return granted;
            });
        }

        /** Returns whether the beat was in time and is committed. */
        boolean beat(boolean isToBeCommitted, Duration headStart, Callable<?> whenOver) {
            try {
                return store.inTransaction(LIMIT, locks -> {
                    LockNodeRepository nodes = store.nodes();
                    LockNodeRepository.Snapshot before = nodes.read(nodeId).orElseThrow();
                    long version = before.node().version();
                    if (nodes.beat(nodeId, version, version + 1, BEATEN_LEASE_MICROS) == 0) {
                        return false;
                    }
                    awaitClock(before.node().expiresAt().plus(TOLERANCE));
                    call(whenOver);
                    awaitClock(now().plus(headStart));
                    if (!isToBeCommitted) {
                        throw new RolledBack();
                    }
                    return true;
                });
            } catch (RolledBack asIntended) {
                return false;
            }
        }

        private void awaitClock(Instant instant) {
            await().pollInSameThread()
                    .pollDelay(Duration.ZERO)
                    .pollInterval(ofMillis(5))
                    .atMost(LIMIT)
                    .until(() -> !now().isBefore(instant));
        }

        /** The database's clock. */
        private Instant now() {
            return store.nodes().read(nodeId).orElseThrow().dbNow();
        }

        LockEntity row() {
            return store.inTransaction(LIMIT, (TransactionalLockRows locks) -> locks.read(name))
                    .orElseThrow()
                    .row();
        }

        private static void call(Callable<?> work) {
            try {
                work.call();
            } catch (Exception failed) {
                throw new AssertionError(failed);
            }
        }
    }

    private static final class RolledBack extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** A process that acquires as every process does. */
    private static final class OtherProcess implements Taker {

        private final JavaProcess process;
        private final Map<String, CompletableFuture<Boolean>> begun = new ConcurrentHashMap<>();
        private final Map<String, CompletableFuture<Boolean>> taken = new ConcurrentHashMap<>();

        OtherProcess(JavaProcess process) {
            this.process = process;
            Daemons.named("answers").newThread(this::readAnswers).start();
        }

        private void readAnswers() {
            try {
                while (true) {
                    String[] answer = process.awaitLine(line -> true, LIMIT.multipliedBy(3))
                            .split(" ");
                    switch (answer[0]) {
                        case "begun" -> of(begun, answer[1]).complete(true);
                        case "took" -> of(taken, answer[1]).complete(true);
                        case "refused" -> of(taken, answer[1]).complete(false);
                        case "failed" ->
                            of(taken, answer[1])
                                    .completeExceptionally(new IllegalStateException(String.join(" ", answer)));
                        default -> {}
                    }
                }
            } catch (AssertionError | InterruptedException ended) {
                // Whoever waits for an answer says that there is none.
            }
        }

        private static CompletableFuture<Boolean> of(Map<String, CompletableFuture<Boolean>> answers, String name) {
            return Objects.requireNonNull(answers.computeIfAbsent(name, key -> new CompletableFuture<>()));
        }

        @Override
        public Future<Boolean> take(String name) throws Exception {
            process.send("take " + name);
            of(begun, name).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            return of(taken, name);
        }
    }

    /**
     * The takeover as it must not be: the node is not ended first, its lease is only looked at, as it was before a beat that
     * is not committed yet.
     */
    private static final class OneStatement implements Taker {

        private final DataSource pool;
        private final String sql;

        OneStatement(Database database) {
            // At REPEATABLE READ, MySQL and MariaDB would lock the node's row for the subquery and wait for the beat:
            // https://dev.mysql.com/doc/refman/8.4/en/innodb-locks-set.html
            this.pool = database.pool(config -> {
                config.setMaximumPoolSize(AT_ONCE);
                config.setTransactionIsolation("TRANSACTION_READ_COMMITTED");
            });
            this.sql = """
                    update distributed_lock
                    set owner = '%s', node_id = null, fencing_token = fencing_token + 1, version = version + 1
                    where name = ?
                        and (select n.expires_at from lock_node n where n.id = distributed_lock.node_id) <= %s
                    """.formatted(TAKER, clock(database.kind()));
        }

        private static String clock(TestDatabase kind) {
            return switch (kind) {
                case POSTGRESQL -> "clock_timestamp()";
                case MARIADB, MYSQL -> "utc_timestamp(6)";
                default -> "current_timestamp";
            };
        }

        @Override
        public Future<Boolean> take(String name) {
            return CompletableFuture.completedFuture(isTaken(name));
        }

        private boolean isTaken(String name) {
            try (Connection connection = pool.getConnection();
                    PreparedStatement update = connection.prepareStatement(sql)) {
                update.setString(1, name);
                return update.executeUpdate() == 1;
            } catch (java.sql.SQLException failed) {
                throw new IllegalStateException(failed);
            }
        }
    }
}
