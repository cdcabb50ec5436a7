package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.Exclusion;
import io.github.holdfast.benchmark.contestant.Floor;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.benchmark.contestant.Load;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.io.File;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * A process that runs workloads on command, with the Holdfast of any commit. Everything else belongs to this commit: the workloads, the pool,
 * the driver and the database.
 */
final class CommitNode implements AutoCloseable {

    private static final String FLOOR = "floor";
    private static final String RATE = "per second: ";
    private static final Duration SOON = Duration.ofMinutes(2);

    private final String label;
    private final Database database;
    private final JavaProcess process;

    private CommitNode(String label, Database database, JavaProcess process) {
        this.label = label;
        this.database = database;
        this.process = process;
    }

    /** Starts the floor on a database of its own. */
    static CommitNode floor(TestDatabase kind) throws Exception {
        Database database = Databases.durable(kind);
        Floor.createTable(database);
        return start(FLOOR, database, "");
    }

    /**
     * Starts Holdfast on a database of its own.
     *
     * @param library the class path of the commit's {@code lock-service}
     */
    static CommitNode of(String commit, TestDatabase kind, String library) throws Exception {
        return start(commit, Databases.durable(kind), library);
    }

    private static CommitNode start(String label, Database database, String library) throws Exception {
        JavaProcess process = JavaProcess.of(CommitNode.class)
                .classPath(harness(database) + library)
                .jvmArgs("-Xmx512m", "-Dlogback.configurationFile=logback.xml")
                .args(label, database.kind().name(), database.url(), database.user(), database.password())
                .start();
        process.awaitLine("ready"::equals, SOON);
        return new CommitNode(label, database, process);
    }

    /** Returns the class path of what does not belong to the measured commit. */
    private static String harness(Database database) throws Exception {
        Set<String> path = new LinkedHashSet<>();
        for (Class<?> type : List.of(
                CommitNode.class,
                JavaProcess.class,
                HikariDataSource.class,
                DriverManager.getDriver(database.url()).getClass(),
                Class.forName("org.slf4j.Logger"),
                Class.forName("ch.qos.logback.classic.Logger"),
                Class.forName("ch.qos.logback.core.Context"))) {
            path.add(Path.of(type.getProtectionDomain()
                            .getCodeSource()
                            .getLocation()
                            .toURI())
                    .toString());
        }
        return String.join(File.pathSeparator, path) + File.pathSeparator;
    }

    String label() {
        return label;
    }

    String databaseLabel() {
        return database.kind().label() + " " + database.version();
    }

    /** Runs a workload of one process, and returns how many cycles per second it has reached. */
    double run(Workload workload, Duration time) throws InterruptedException {
        process.send(workload.id() + " " + time);
        String line = process.awaitLine(output -> output.startsWith(RATE), time.plus(SOON));
        return Double.parseDouble(line.substring(RATE.length()));
    }

    @Override
    public void close() {
        process.close();
        database.close();
    }

    /** Takes the arguments of {@link #start}. */
    public static void main(String[] arguments) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(arguments[2]);
        config.setUsername(arguments[3]);
        config.setPassword(arguments[4]);
        HikariDataSource pool = Node.pool(config);
        Contestant locks = arguments[0].equals(FLOOR)
                ? new Floor(TestDatabase.valueOf(arguments[1]), pool)
                : new CommitLocks(pool);
        JavaProcess.commands(command -> {
            String[] words = command.split(" ", -1);
            System.out.println(RATE + rate(locks, Workload.of(words[0]).load(), Duration.parse(words[1])));
        });
        System.out.println("ready");
        Thread.currentThread().join();
    }

    private static double rate(Contestant locks, Load load, Duration time) {
        try {
            long start = System.nanoTime();
            Latencies waits = load.run(locks, name -> Exclusion.inProcess(), time);
            return waits.count() * 1e9 / (System.nanoTime() - start);
        } catch (Exception failed) {
            throw new IllegalStateException(failed);
        }
    }
}
