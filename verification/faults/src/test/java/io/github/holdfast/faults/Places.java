package io.github.holdfast.faults;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * The places in the queues of locks, which are the rows of the waiters. While there are faults, a thread looks which ones there
 * are: a run in which nobody takes a place shows nothing about them.
 */
final class Places implements AutoCloseable {

    private static final String ALL = "select w.id, w.fair, w.name, w.node_id, n.ended from lock_waiter w"
            + " left join lock_node n on n.id = w.node_id";

    private static final long PAUSE = TimeUnit.MILLISECONDS.toNanos(50);

    private final Server server;
    private final Set<String> seen = new HashSet<>();
    private final Set<String> seenFair = new HashSet<>();
    private final Thread looking = new Thread(this::watch, "places");
    private volatile boolean isOver;

    private interface Row {
        void see(ResultSet row) throws SQLException;
    }

    /** Begins to look. */
    Places(Server server) {
        this.server = server;
        looking.start();
    }

    private void watch() {
        while (!isOver) {
            try (Connection session = server.connection();
                    Statement statement = session.createStatement()) {
                while (!isOver) {
                    look(statement, this::note);
                    LockSupport.parkNanos(PAUSE);
                }
            } catch (SQLException hitByAFault) {
                LockSupport.parkNanos(PAUSE);
            }
        }
    }

    private static void look(Statement statement, Row each) throws SQLException {
        try (ResultSet rows = statement.executeQuery(ALL)) {
            while (rows.next()) {
                each.see(rows);
            }
        }
    }

    private void note(ResultSet row) throws SQLException {
        seen.add(row.getString(1));
        if (row.getBoolean(2)) {
            seenFair.add(row.getString(1));
        }
    }

    /** Ends the looking, and records how many different places were seen. */
    void recordSeen(Recorder recorder) throws InterruptedException {
        close();
        Facts facts = Facts.of(Facts.ALL).value(seen.size()).holds(seenFair.size());
        recorder.end(recorder.begin(Action.PLACES_SEEN, facts), Action.PLACES_SEEN, Phase.OK, facts);
    }

    /** Records the places that are left when nobody waits any more, after some patience: a removal may be under way. */
    void recordLeft(Recorder recorder, Duration patience) throws SQLException {
        try (Connection session = server.connection();
                Statement statement = session.createStatement()) {
            long deadline = System.nanoTime() + patience.toNanos();
            List<Left> left = left(statement);
            while (!left.isEmpty() && System.nanoTime() - deadline < 0) {
                LockSupport.parkNanos(PAUSE);
                left = left(statement);
            }
            left.forEach(place ->
                    recorder.end(recorder.begin(Action.PLACE, place.facts()), Action.PLACE, place.of(), place.facts()));
        }
    }

    /** @param of fails if the node is dead */
    private record Left(Facts facts, Phase of) {}

    private static List<Left> left(Statement statement) throws SQLException {
        List<Left> left = new ArrayList<>();
        look(statement, row -> {
            boolean isAlive = !row.getBoolean(5) && !row.wasNull();
            Facts facts = Facts.of(row.getString(3)).owner(row.getString(1)).node(row.getString(4));
            left.add(new Left(facts, isAlive ? Phase.OK : Phase.FAIL));
        });
        return left;
    }

    @Override
    public void close() throws InterruptedException {
        isOver = true;
        looking.join();
    }
}
