package io.github.holdfast.benchmark;

import com.sun.management.ThreadMXBean;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A database on which all contestants have their nodes at the same time. */
final class Arena implements AutoCloseable {

    private static final Pattern PORT = Pattern.compile("(?<=127\\.0\\.0\\.1:)\\d+");
    private static final int NODES = 2;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Database database;
    private final Map<Kind, List<Node>> nodes = new EnumMap<>(Kind.class);

    private Arena(Database database) {
        this.database = database;
    }

    static Arena on(TestDatabase databaseKind) {
        Arena arena = new Arena(databaseKind.create());
        arena.checkDurability();
        for (Kind kind : Kind.values()) {
            kind.createTables(arena.database);
            List<Node> own = new ArrayList<>();
            for (int node = 0; node < NODES; node++) {
                own.add(Node.of(kind, arena.database, arena.database.url()));
            }
            arena.nodes.put(kind, own);
        }
        return arena;
    }

    private void checkDurability() {
        String setting = switch (database.kind()) {
            case POSTGRESQL -> database.queryForString("select current_setting('fsync')");
            case MARIADB, MYSQL -> database.queryForString("select @@innodb_flush_log_at_trx_commit");
            case H2_MEMORY, H2_FILE, H2_TCP -> "1";
        };
        if (!List.of("on", "1").contains(setting)) {
            throw new IllegalStateException(label() + " does not wait for the disk: " + setting);
        }
    }

    String label() {
        return database.kind().label() + " " + database.version();
    }

    List<Node> nodes(Kind kind) {
        return nodes.getOrDefault(kind, List.of());
    }

    Measurement run(Workload workload, Kind kind, Duration time) throws Exception {
        List<Contestant> locks =
                nodes(kind).stream().limit(workload.nodes()).map(Node::locks).toList();
        return workload.load().run(locks, time);
    }

    /** Counts what it costs to acquire and release a name that the client had before. */
    Cycle count(Kind kind) throws Exception {
        int cycles = 2000;
        try (CountedNode counted = counted(kind)) {
            Contestant locks = counted.node().locks();
            for (int warmUp = 0; warmUp < cycles; warmUp++) {
                locks.acquire("trips").release();
            }
            long before = counted.proxy().roundTrips();
            long allocatedBefore = THREADS.getCurrentThreadAllocatedBytes();
            for (int cycle = 0; cycle < cycles; cycle++) {
                locks.acquire("trips").release();
            }
            long allocated = THREADS.getCurrentThreadAllocatedBytes() - allocatedBefore;
            return new Cycle((counted.proxy().roundTrips() - before) / (double) cycles, allocated / (double) cycles);
        }
    }

    /** Whether there is a network between the node and the database. */
    boolean hasServer() {
        return PORT.matcher(database.url()).find();
    }

    /** A node of its own whose round trips are counted. */
    CountedNode counted(Kind kind) throws IOException {
        Matcher port = PORT.matcher(database.url());
        if (!port.find()) {
            throw new IllegalStateException(label() + " has no server");
        }
        CountingProxy proxy = CountingProxy.to(Integer.parseInt(port.group()));
        return new CountedNode(Node.of(kind, database, port.replaceFirst(String.valueOf(proxy.port()))), proxy);
    }

    @Override
    public void close() {
        nodes.values().forEach(own -> own.forEach(Node::close));
        database.close();
    }

    /** A node behind a proxy. */
    record CountedNode(Node node, CountingProxy proxy) implements AutoCloseable {
        @Override
        public void close() {
            node.close();
            proxy.close();
        }
    }
}
