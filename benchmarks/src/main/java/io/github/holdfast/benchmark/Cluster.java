package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Exclusion;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.benchmark.contestant.Latencies;
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
    private final List<Integer> perNode = new ArrayList<>();
    private Latencies waits = new Latencies();
    private Latencies gaps = new Latencies();

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
        waits = new Latencies();
        perNode.clear();
        gaps = new Latencies();
        for (NodeProcess node : nodes) {
            Latencies ofNode = node.end();
            waits.addAll(ofNode);
            perNode.add(ofNode.count());
            gaps.addAll(node.gaps());
        }
        return Measurement.of(
                waits, exclusion.handOvers() - handOversBefore, Duration.ofNanos(System.nanoTime() - start));
    }

    /** Returns the waits of the last run. */
    Latencies waits() {
        return waits;
    }

    /** Returns the number of acquisitions of each node in the last run. */
    List<Integer> perNode() {
        return List.copyOf(perNode);
    }

    /** Returns the times from the end of a hold to the next grant by another thread, in the last run. */
    Latencies gaps() {
        return gaps;
    }

    @Override
    public void close() throws IOException {
        nodes.forEach(NodeProcess::close);
        Files.delete(file);
    }
}
