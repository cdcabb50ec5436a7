package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.test.TestDatabase;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;

/**
 * Compares two commits and the floor, each in a process and on a database of its own. They take turns in each round. Start it with
 * {@code benchmarks/compare}, which builds the commits.
 */
public final class CommitBenchmark {

    private static final List<TestDatabase> DEFAULT = List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL);
    private static final List<Workload> WORKLOADS = List.of(Workload.of("W1"), Workload.of("W2"));

    /** The JVM's compilers take tens of seconds to finish. */
    private static final Duration WARM_UP = Duration.ofSeconds(20);

    /** Short, so that a passing load of the machine affects all alike. */
    private static final Duration TURN = Duration.ofMillis(500);

    private CommitBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments one argument, a list separated by commas. It contains {@code commit=file} for each commit, with a file that
     *     contains the class path of its {@code lock-service}. It may contain {@code rounds=30}, names of {@link TestDatabase}, and {@code quick}
     *     for a short warm-up
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        List<Map.Entry<String, String>> commits = new ArrayList<>();
        List<String> databases = new ArrayList<>();
        int rounds = 30;
        Duration warmUp = WARM_UP;
        for (String word : arguments[0].split(",", -1)) {
            int equals = word.indexOf('=');
            String name = equals < 0 ? word : word.substring(0, equals);
            String value = word.substring(equals + 1);
            if (name.equals("rounds")) {
                rounds = Integer.parseInt(value);
            } else if (name.equalsIgnoreCase("quick")) {
                warmUp = Duration.ofSeconds(1);
            } else if (equals > 0) {
                commits.add(Map.entry(name, Files.readString(Path.of(value)).strip()));
            } else {
                databases.add(word);
            }
        }
        for (TestDatabase database : Databases.chosen(databases.toArray(new String[0]), DEFAULT)) {
            compare(commits, database, rounds, warmUp);
        }
    }

    private static void compare(
            List<Map.Entry<String, String>> commits, TestDatabase database, int rounds, Duration warmUp)
            throws Exception {
        List<CommitNode> nodes = new ArrayList<>();
        try {
            nodes.add(CommitNode.floor(database));
            for (Map.Entry<String, String> commit : commits) {
                nodes.add(CommitNode.of(commit.getKey(), database, commit.getValue()));
            }
            print("%n## %s%n", nodes.get(0).databaseLabel());
            for (Workload workload : WORKLOADS) {
                print(workload, nodes, inTurn(workload, nodes, rounds, warmUp));
            }
        } finally {
            nodes.forEach(CommitNode::close);
        }
    }

    private static Results<CommitNode, Double> inTurn(
            Workload workload, List<CommitNode> nodes, int rounds, Duration warmUp) throws InterruptedException {
        for (CommitNode node : nodes) {
            node.run(workload, warmUp);
        }
        Results<CommitNode, Double> results = new Results<>();
        List<CommitNode> turns = new ArrayList<>(nodes);
        // No node always follows the same node.
        Random order = new Random(2026);
        for (int round = 0; round < rounds; round++) {
            Collections.shuffle(turns, order);
            for (CommitNode node : turns) {
                results.add(node, node.run(workload, TURN));
            }
        }
        return results;
    }

    private static void print(Workload workload, List<CommitNode> nodes, Results<CommitNode, Double> results) {
        CommitNode floor = nodes.get(0);
        CommitNode first = nodes.get(1);
        print("%n**%s** %s%n%n", workload.id(), workload.label());
        print("| | per second | p10 to p90 | to the floor | p10 to p90 | to %s | p10 to p90 |%n", first.label());
        print("|---|---|---|---|---|---|---|%n");
        for (CommitNode node : nodes) {
            print(
                    "| %s | %,.0f | %,.0f to %,.0f | %.3f | %.3f to %.3f | %.3f | %.3f to %.3f |%n",
                    node.label(),
                    results.quantile(node, 0.5, rate -> rate),
                    results.quantile(node, 0.1, rate -> rate),
                    results.quantile(node, 0.9, rate -> rate),
                    results.ratio(node, floor, 0.5, rate -> rate),
                    results.ratio(node, floor, 0.1, rate -> rate),
                    results.ratio(node, floor, 0.9, rate -> rate),
                    results.ratio(node, first, 0.5, rate -> rate),
                    results.ratio(node, first, 0.1, rate -> rate),
                    results.ratio(node, first, 0.9, rate -> rate));
        }
    }

    private static void print(String format, Object... values) {
        System.out.print(String.format(Locale.ROOT, format, values));
    }
}
