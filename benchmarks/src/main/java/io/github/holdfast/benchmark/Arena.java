package io.github.holdfast.benchmark;

import com.sun.management.ThreadMXBean;
import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.Exclusion;
import io.github.holdfast.benchmark.contestant.HibernateUpdates;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.benchmark.contestant.Load;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.TestDatabase;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/** A database on which each contestant has one node at the same time. */
final class Arena implements AutoCloseable {

    private static final Pattern PORT = Pattern.compile("(?<=127\\.0\\.0\\.1:)\\d+");
    private static final String COUNTED = "trips";
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final Database database;
    private final List<String> driverSettings;
    private final Map<Kind, Node> nodes = new EnumMap<>(Kind.class);

    private Arena(Database database, List<String> driverSettings) {
        this.database = database;
        this.driverSettings = driverSettings;
    }

    /** @param driverSettings settings of the form {@code name=value}, which all contestants add to their URL */
    static Arena on(TestDatabase databaseKind, List<String> driverSettings) {
        Arena arena = new Arena(Databases.durable(databaseKind), driverSettings);
        for (Kind kind : Kind.values()) {
            kind.createTables(arena.database);
            arena.nodes.put(kind, arena.node(kind, arena.url()));
        }
        return arena;
    }

    String label() {
        return database.kind().label() + " " + database.version();
    }

    private String url() {
        String url = database.url();
        if (driverSettings.isEmpty()) {
            return url;
        }
        return url + (url.contains("?") ? '&' : '?') + String.join("&", driverSettings);
    }

    private Node node(Kind kind, String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername(database.user());
        config.setPassword(database.password());
        return Node.of(kind, database.kind(), config);
    }

    /** Returns the contestant's locks in this process. */
    Contestant locks(Kind kind) {
        return Objects.requireNonNull(nodes.get(kind)).locks();
    }

    /** Runs a load on the contestant's node in this process. */
    Measurement run(Load load, Kind kind, Duration time) throws Exception {
        Map<String, Exclusion> exclusions = new HashMap<>();
        long start = System.nanoTime();
        Latencies waits =
                load.run(locks(kind), name -> exclusions.computeIfAbsent(name, key -> Exclusion.inProcess()), time);
        long handOvers =
                exclusions.values().stream().mapToLong(Exclusion::handOvers).sum();
        return Measurement.of(waits, handOvers, Duration.ofNanos(System.nanoTime() - start));
    }

    /** Starts the contestant's nodes, each in a separate process. */
    Cluster cluster(Kind kind, Workload workload) throws Exception {
        return Cluster.start(kind, database, url(), workload);
    }

    /** Counts the costs of acquiring and releasing a name that the node has held before. */
    Cycle count(Kind kind) throws Exception {
        try (CountedNode counted = counted(kind)) {
            return count(counted.node().locks(), counted.proxy());
        }
    }

    /** Counts the costs of two updates through Hibernate. */
    Cycle countHibernate() throws Exception {
        try (CountedNode counted = counted(Kind.HOLDFAST)) {
            counted.node().locks().acquire(COUNTED).release();
            try (Contestant updates = new HibernateUpdates(counted.node().pool())) {
                return count(updates, counted.proxy());
            }
        }
    }

    private static Cycle count(Contestant locks, Proxy proxy) throws Exception {
        int cycles = 2000;
        for (int warmUp = 0; warmUp < cycles; warmUp++) {
            locks.acquire(COUNTED).release();
        }
        long before = proxy.roundTrips();
        long allocatedBefore = THREADS.getCurrentThreadAllocatedBytes();
        for (int cycle = 0; cycle < cycles; cycle++) {
            locks.acquire(COUNTED).release();
        }
        long allocated = THREADS.getCurrentThreadAllocatedBytes() - allocatedBefore;
        return new Cycle((proxy.roundTrips() - before) / (double) cycles, allocated / (double) cycles);
    }

    /** Whether the node reaches the database through a network. */
    boolean hasServer() {
        return PORT.matcher(database.url()).find();
    }

    /** Opens a separate node, and counts its round trips. */
    CountedNode counted(Kind kind) {
        Proxy proxy = Proxy.to(url());
        return new CountedNode(node(kind, proxy.url()), proxy);
    }

    @Override
    public void close() {
        nodes.values().forEach(Node::close);
        database.close();
    }

    /** A node with its counting proxy. */
    record CountedNode(Node node, Proxy proxy) implements AutoCloseable {
        @Override
        public void close() throws IOException {
            node.close();
            proxy.close();
        }
    }
}
