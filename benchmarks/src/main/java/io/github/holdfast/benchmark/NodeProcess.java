package io.github.holdfast.benchmark;

import com.zaxxer.hikari.HikariConfig;
import io.github.holdfast.benchmark.contestant.Exclusion;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.benchmark.contestant.Load;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;

/** A node in a separate process. It runs a workload on command. */
final class NodeProcess implements AutoCloseable {

    /** The beginning of the line with the gaps. */
    private static final String GAPS = "gaps ";

    private static final Duration SOON = Duration.ofMinutes(2);

    private final JavaProcess process;

    private NodeProcess(JavaProcess process) {
        this.process = process;
    }

    /**
     * Starts a node.
     *
     * @param exclusion the file of the {@link Exclusion} for the workload's only lock
     */
    static NodeProcess start(Kind kind, Database database, String url, Workload workload, Path exclusion)
            throws InterruptedException {
        NodeProcess node = new NodeProcess(JavaProcess.of(NodeProcess.class)
                .args(
                        kind.name(),
                        database.kind().name(),
                        url,
                        database.user(),
                        database.password(),
                        workload.id(),
                        exclusion.toString())
                .start());
        node.process.awaitLine("ready"::equals, SOON);
        return node;
    }

    /** Starts a run of the workload. */
    void begin(Duration time) {
        process.send(time.toString());
    }

    /** Waits for the end of the run, and returns the wait of each acquisition. */
    Latencies end() throws InterruptedException {
        return Latencies.of(process.awaitLine(line -> line.startsWith(Latencies.MARK), SOON));
    }

    /** Returns the times from the end of a hold to the next grant by another thread. Call it after {@link #end}. */
    Latencies gaps() throws InterruptedException {
        return Latencies.of(
                process.awaitLine(line -> line.startsWith(GAPS), SOON).substring(GAPS.length()));
    }

    @Override
    public void close() {
        process.close();
    }

    /** Takes the arguments of {@link #start}. */
    public static void main(String[] arguments) throws InterruptedException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(arguments[2]);
        config.setUsername(arguments[3]);
        config.setPassword(arguments[4]);
        Node node = Node.of(Kind.valueOf(arguments[0]), TestDatabase.valueOf(arguments[1]), config);
        Load load = Workload.of(arguments[5]).load();
        Exclusion exclusion = Exclusion.in(Path.of(arguments[6]));
        JavaProcess.commands(time -> {
            try {
                Latencies gaps = new Latencies();
                Latencies waits = load.run(
                        node.locks(),
                        name -> exclusion,
                        gap -> {
                            if (gap >= 0) {
                                synchronized (gaps) {
                                    gaps.add(gap);
                                }
                            }
                        },
                        Duration.parse(time));
                System.out.println(waits.line());
                System.out.println(GAPS + gaps.line());
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        });
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
