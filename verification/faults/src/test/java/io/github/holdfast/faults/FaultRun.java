package io.github.holdfast.faults;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockNotAcquiredException;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockAdmin;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** One run: workers use locks while faults happen, then all is calm, and it is looked what is left. */
record FaultRun(TestDatabase kind, long seed, Duration duration, Path directory) {

    /** How long after the faults what they have left keeps locks: the lease, the lock delay, and a second. */
    private static final Duration KEPT = Fleet.NODE_LEASE.plus(Fleet.LOCK_DELAY).plusSeconds(1);

    /** How long after the faults a lock may still be held. A busy machine may take seconds for each of the calls that find out. */
    static final Duration FREE_WITHIN = KEPT.plusSeconds(15);

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final Duration TIDYING = Duration.ofMinutes(2);

    /** Returns what happened, which is also in {@code history.txt}. */
    History history() throws Exception {
        Files.createDirectories(directory);
        deleteEarlierRun();
        try (Server server = Server.start(kind, directory)) {
            createTables(server);
            try (HikariDataSource pool = pool(server);
                    EntityManagerFactory unit = Units.on(pool);
                    LockService locks = LockService.builder(unit)
                            .nodeLease(Fleet.NODE_LEASE)
                            .lockDelay(Fleet.LOCK_DELAY)
                            .withoutHousekeeping()
                            .build();
                    Recorder recorder = new Recorder(0, directory.resolve("nemesis.txt"));
                    Fleet fleet = new Fleet(server, directory, seed);
                    Places places = new Places(server)) {
                fleet.start();
                new Nemesis(server, fleet, locks.admin(), recorder, seed)
                        .rageUntil(System.nanoTime() + duration.toNanos());
                fleet.stop();
                places.recordSeen(recorder);
                Facts all = Facts.of(Facts.ALL);
                recorder.end(recorder.begin(Action.CALM, all), Action.CALM, Phase.OK, all);
                long calm = System.nanoTime();
                probe(locks, recorder);
                fleet.lookForLeftovers();
                LockSupport.parkNanos(calm + KEPT.toNanos() - System.nanoTime());
                tidyUp(locks.admin());
                look(server, recorder);
                places.recordLeft(recorder, PATIENCE);
                System.out.println("Answers to COMMIT that were dropped: " + fleet.droppedReplies());
            }
        }
        History history = collected();
        history.write(directory.resolve("history.txt"));
        return history;
    }

    private static HikariDataSource pool(Server server) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(server.url());
        config.setUsername(server.user());
        config.setPassword(server.password());
        config.setConnectionTimeout(2000);
        // The first connection to a server that has just started takes longer on a busy machine.
        config.setInitializationFailTimeout(30_000);
        return new HikariDataSource(config);
    }

    private static void createTables(Server server) throws SQLException {
        try (HikariDataSource pool = pool(server)) {
            LockSchema.on(pool).createIfMissing();
        }
        server.execute("create table fault_counter (name varchar(50) primary key, n bigint not null)");
        for (int i = 0; i < Client.NAMES; i++) {
            server.execute("insert into fault_counter values ('" + Client.name(i) + "', 0)");
        }
    }

    private static void probe(LockService locks, Recorder recorder) throws InterruptedException {
        for (int i = 0; i < Client.NAMES; i++) {
            Facts facts = Facts.of(Client.name(i));
            long probe = recorder.begin(Action.PROBE, facts);
            try (LockHandle lock = locks.acquire(
                    LockRequest.of(facts.name()).lease(Fleet.NODE_LEASE).waitAtMost(PATIENCE))) {
                recorder.end(probe, Action.PROBE, Phase.OK, facts.token(lock.fencingToken()));
            } catch (LockNotAcquiredException refused) {
                recorder.end(probe, Action.PROBE, Phase.REFUSED, facts);
            }
        }
    }

    /** Whoever was killed while it tidied up keeps others from it for a minute. */
    private static void tidyUp(LockAdmin admin) throws InterruptedException {
        long deadline = System.nanoTime() + TIDYING.toNanos();
        while (true) {
            try {
                var unused = admin.housekeep();
                return;
            } catch (LockNotAcquiredException refused) {
                if (System.nanoTime() - deadline > 0) {
                    throw refused;
                }
            }
        }
    }

    private static void look(Server server, Recorder recorder) throws SQLException {
        try (Connection connection = server.connection();
                Statement statement = connection.createStatement()) {
            try (ResultSet rows = statement.executeQuery(
                    "select l.name, l.owner, l.node_id, l.hold_count, l.version, l.fencing_token, n.ended"
                            + " from distributed_lock l left join lock_node n on n.id = l.node_id"
                            + " where l.name like 'lock-%'")) {
                while (rows.next()) {
                    String node = rows.getString(3);
                    boolean isAlive = !rows.getBoolean(7) && !rows.wasNull();
                    Facts facts = Facts.of(rows.getString(1))
                            .owner(rows.getString(2))
                            .node(node)
                            .holds(rows.getLong(4))
                            .grant(rows.getLong(5), rows.getLong(6));
                    Phase outcome = node == null || isAlive ? Phase.OK : Phase.FAIL;
                    recorder.end(recorder.begin(Action.ROW, facts), Action.ROW, outcome, facts);
                }
            }
            try (ResultSet rows =
                    statement.executeQuery("select name, owner, node_id, fencing_token from lock_holder")) {
                while (rows.next()) {
                    Facts facts = Facts.of(rows.getString(1))
                            .owner(rows.getString(2))
                            .node(rows.getString(3))
                            .token(rows.getLong(4));
                    recorder.end(recorder.begin(Action.SHARE_ROW, facts), Action.SHARE_ROW, Phase.FAIL, facts);
                }
            }
            try (ResultSet rows = statement.executeQuery("select name, n from fault_counter")) {
                while (rows.next()) {
                    Facts facts = Facts.of(rows.getString(1)).value(rows.getLong(2));
                    recorder.end(recorder.begin(Action.COUNTER, facts), Action.COUNTER, Phase.OK, facts);
                }
            }
        }
    }

    /** An earlier run may have had more processes. Their events are not of this run. */
    private void deleteEarlierRun() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Files.delete(file);
            }
        }
    }

    private static boolean isOfOneProcess(Path file) {
        return file.toString().endsWith(".txt") && !file.endsWith("history.txt");
    }

    private History collected() throws IOException {
        List<Event> events = new ArrayList<>();
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(FaultRun::isOfOneProcess).toList()) {
                String text = Files.readString(file);
                // A line without an end is where a worker was killed.
                text.substring(0, text.lastIndexOf('\n') + 1)
                        .lines()
                        .map(Event::parse)
                        .forEach(events::add);
            }
        }
        return new History(events);
    }
}
