package io.github.holdfast.benchmark;

import io.github.holdfast.test.Database;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** The nodes of one contestant. Each runs in a separate process. They share one lock. */
final class Cluster implements AutoCloseable {

    private final Path file;
    private final Exclusion exclusion;
    private final List<NodeProcess> nodes = new ArrayList<>();

    private Cluster(Path file) {
        this.file = file;
        exclusion = Exclusion.in(file);
    }

    static Cluster start(Kind kind, Database database, String url, Workload workload)
            throws IOException, InterruptedException {
        Cluster cluster = new Cluster(Files.createTempFile("exclusion", null));
        for (int node = 0; node < workload.processes(); node++) {
            cluster.nodes.add(NodeProcess.start(kind, database, url, workload, cluster.file));
        }
        return cluster;
    }

    Measurement run(Duration time) throws InterruptedException {
        long handOversBefore = exclusion.handOvers();
        long start = System.nanoTime();
        nodes.forEach(node -> node.begin(time));
        Latencies waits = new Latencies();
        for (NodeProcess node : nodes) {
            waits.addAll(node.end());
        }
        return Measurement.of(
                waits, exclusion.handOvers() - handOversBefore, Duration.ofNanos(System.nanoTime() - start));
    }

    @Override
    public void close() throws IOException {
        nodes.forEach(NodeProcess::close);
        Files.delete(file);
    }
}
