package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.test.TestDatabase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;

/**
 * Compares Holdfast with two other libraries and the floor, on databases that wait for the disk. They take turns in each round.
 * Compare the ratios to the floor, because the absolute figures depend on the machine.
 */
public final class LockBenchmark {

    private static final List<String> WORKLOADS = List.of("W1", "W2", "W3", "W4", "W5");
    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.H2_MEMORY, TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL);
    private static final int PARTS = 6;

    private final Effort effort;
    private final Report report = new Report();

    private final Set<String> workloads;

    private LockBenchmark(Effort effort, Set<String> workloads) {
        this.effort = effort;
        this.workloads = workloads;
    }

    /**
     * Runs the benchmark. Writes the results to {@code locks.md} and {@code locks.json} in {@code target} of the working
     * directory.
     *
     * @param arguments at most one argument, a list separated by commas. It may contain names of {@link TestDatabase}, workloads
     *     ({@code W1} to {@code W5}), {@code quick} or {@code short}, and settings of the drivers as {@code name=value}
     * @throws Exception if anything goes wrong, for example if two threads have a lock at the same time
     */
    public static void main(String[] arguments) throws Exception {
        List<String> words = new ArrayList<>();
        List<String> driverSettings = new ArrayList<>();
        for (String word : arguments.length == 0 ? new String[0] : arguments[0].split(",", -1)) {
            if (word.contains("=")) {
                driverSettings.add(word);
            } else {
                words.add(word.toUpperCase(Locale.ROOT));
            }
        }
        Effort effort = words.remove("QUICK") ? Effort.QUICK : words.remove("SHORT") ? Effort.SHORT : Effort.FULL;
        Set<String> workloads = new HashSet<>(WORKLOADS);
        if (workloads.stream().anyMatch(words::contains)) {
            workloads.retainAll(words);
            words.removeAll(WORKLOADS);
        }
        LockBenchmark benchmark = new LockBenchmark(effort, workloads);
        for (TestDatabase database : Databases.chosen(words.toArray(new String[0]), DEFAULT)) {
            benchmark.on(database, driverSettings);
        }
        benchmark.report.write(Path.of("target"));
    }

    private void on(TestDatabase database, List<String> driverSettings) throws Exception {
        try (Arena arena = Arena.on(database, driverSettings)) {
            report.database(arena.label());
            for (Workload workload : Workload.all()) {
                if (workloads.contains(workload.id()) && (workload.processes() == 1 || arena.hasServer())) {
                    report.workload(workload, compare(arena, workload));
                }
            }
            if (arena.hasServer() && workloads.contains("W5")) {
                Map<Kind, Cycle> cycles = new EnumMap<>(Kind.class);
                Map<Kind, Waiting> waiting = new EnumMap<>(Kind.class);
                for (Kind kind : Kind.libraries()) {
                    cycles.put(kind, arena.count(kind));
                    waiting.put(kind, Waiting.measure(arena, kind, effort.waiting(), effort.wakeUps()));
                }
                report.network(cycles, waiting, arena.countHibernate());
            }
        }
    }

    private Results<Kind, Measurement> compare(Arena arena, Workload workload) throws Exception {
        return workload.processes() == 1
                ? compare(workload, (kind, time) -> arena.run(workload.load(), kind, time))
                : compareClusters(arena, workload);
    }

    private Results<Kind, Measurement> compareClusters(Arena arena, Workload workload) throws Exception {
        Map<Kind, Cluster> clusters = new EnumMap<>(Kind.class);
        try {
            for (Kind kind : Kind.libraries()) {
                clusters.put(kind, arena.cluster(kind, workload));
            }
            return compare(
                    workload,
                    (kind, time) -> Objects.requireNonNull(clusters.get(kind)).run(time));
        } finally {
            for (Cluster cluster : clusters.values()) {
                cluster.close();
            }
        }
    }

    /** Runs a contestant for a time. */
    private interface Turn {
        Measurement take(Kind kind, Duration time) throws Exception;
    }

    /**
     * Compares the contestants in turns. Short turns spread a passing load of the machine over all contestants. But contended
     * workloads need longer turns, because threads wait in queues. Uncontended workloads need a longer warm-up, because the JVM's
     * compilers take tens of seconds to finish.
     */
    private Results<Kind, Measurement> compare(Workload workload, Turn turn) throws Exception {
        int parts = workload.isContended() ? 1 : PARTS;
        List<Kind> turns = new ArrayList<>(Kind.libraries());
        for (Kind kind : turns) {
            turn.take(
                    kind,
                    workload.isContended() ? effort.warmUp() : effort.warmUp().multipliedBy(5));
        }
        Results<Kind, Measurement> results = new Results<>();
        Random order = new Random(2026);
        for (int round = 0; round < parts * effort.rounds(); round++) {
            // Each turn leaves the server with work to do. In a random order, no contestant always follows the same
            // one.
            Collections.shuffle(turns, order);
            for (Kind kind : turns) {
                results.add(kind, turn.take(kind, effort.time().dividedBy(parts)));
            }
        }
        return results;
    }

    /** The duration of a benchmark. */
    private record Effort(int rounds, Duration warmUp, Duration time, Duration waiting, int wakeUps) {
        static final Effort FULL =
                new Effort(7, Duration.ofSeconds(4), Duration.ofSeconds(3), Duration.ofSeconds(5), 100);
        static final Effort SHORT =
                new Effort(5, Duration.ofSeconds(3), Duration.ofMillis(1500), Duration.ofSeconds(3), 80);
        static final Effort QUICK =
                new Effort(3, Duration.ofMillis(200), Duration.ofMillis(200), Duration.ofMillis(500), 3);
    }
}
