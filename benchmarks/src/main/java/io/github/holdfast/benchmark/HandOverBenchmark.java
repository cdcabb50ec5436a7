package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.benchmark.contestant.Latencies;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;

/**
 * Processes that request one lock all the time: how fast it changes hands, how evenly, and which process goes without it. Two, four and
 * eight processes with two threads each hold it for 1 ms or 20 ms. All contestants take their turns on the same database.
 */
final class HandOverBenchmark {

    private static final Duration WARM_UP = Duration.ofSeconds(3);
    private static final Duration TIME = Duration.ofSeconds(10);

    /** Holdfast's default wait, which is the limit for all contestants here. */
    private static final double LIMIT_MILLIS = 10_000;

    private HandOverBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments at most one argument, a list separated by commas: names of {@link TestDatabase}, of {@link Kind}, and
     *     workloads such as {@code H8:20}. By default, everything runs
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        List<String> words = arguments.length == 0 ? List.of() : List.of(arguments[0].split(",", -1));
        for (TestDatabase database :
                List.of(TestDatabase.POSTGRESQL, TestDatabase.MYSQL, TestDatabase.MARIADB, TestDatabase.H2_TCP)) {
            if (isWanted(database.name(), words, names(TestDatabase.values()))) {
                try (Arena arena = Arena.on(database, List.of())) {
                    print("%n%s%n", arena.label());
                    on(arena, words);
                }
            }
        }
    }

    private static void on(Arena arena, List<String> words) throws Exception {
        for (int processes : new int[] {2, 4, 8}) {
            for (int hold : new int[] {1, 20}) {
                Workload workload = Workload.handOvers(processes, hold);
                if (words.stream().noneMatch(word -> word.startsWith("H") && word.contains(":"))
                        || words.contains(workload.id())) {
                    print("%s%n", workload.label());
                    print("| | per second | gap: median, p99 | longest wait | without | most to least |");
                    print("|---|---|---|---|---|---|");
                    for (Kind kind : Kind.values()) {
                        if (isWanted(kind.name(), words, names(Kind.values()))) {
                            run(arena, kind, workload);
                        }
                    }
                    print("");
                }
            }
        }
    }

    private static List<String> names(Enum<?>[] values) {
        List<String> names = new ArrayList<>();
        for (Enum<?> value : values) {
            names.add(value.name());
        }
        return names;
    }

    /** Whether a word is in the list, or no word of its kind is. */
    private static boolean isWanted(String word, List<String> words, List<String> kind) {
        return words.contains(word) || Collections.disjoint(words, kind);
    }

    private static void run(Arena arena, Kind kind, Workload workload) throws Exception {
        try (Cluster cluster = arena.cluster(kind, workload)) {
            Measurement unusedWarmUp = cluster.run(WARM_UP);
            Measurement unused = cluster.run(TIME);
            Latencies waits = cluster.waits();
            List<Integer> perNode = cluster.perNode();
            print(
                    "| %s | %,.0f | %.1f, %.1f ms | %,.0f ms | %d | %.2f |",
                    kind.label(),
                    waits.count() / (double) TIME.toSeconds(),
                    cluster.gaps().quantile(0.5),
                    cluster.gaps().quantile(0.99),
                    waits.quantile(1),
                    waits.countLongerThan(LIMIT_MILLIS),
                    Collections.max(perNode) / (double) Math.max(1, Collections.min(perNode)));
        }
    }

    private static void print(String format, Object... values) {
        System.out.println(String.format(Locale.ROOT, format, values));
    }
}
