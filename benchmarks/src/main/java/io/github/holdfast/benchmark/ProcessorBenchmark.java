package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Contestant;
import io.github.holdfast.benchmark.contestant.Databases;
import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.test.TestDatabase;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Measures the processor time of the client and of the server, while one thread acquires and releases one name. The contestants
 * take turns, so that a passing load of the machine affects all of them.
 */
public final class ProcessorBenchmark {

    private static final List<TestDatabase> DEFAULT =
            List.of(TestDatabase.POSTGRESQL, TestDatabase.MARIADB, TestDatabase.MYSQL);
    private static final Duration WARM_UP = Duration.ofSeconds(5);
    private static final Duration TURN = Duration.ofMillis(500);
    private static final int ROUNDS = 30;

    /**
     * Finds servers by the name of the process, because a server is not always a child of this JVM. No other server may be busy
     * meanwhile.
     */
    private static final Predicate<String> SERVER =
            Pattern.compile("/(postgres|mariadbd|mysqld)$").asPredicate();

    private ProcessorBenchmark() {}

    /**
     * Runs the benchmark.
     *
     * @param arguments kinds of databases, and settings of the drivers as {@code name=value}; none, or {@code true} from Maven,
     *     for the three servers
     * @throws Exception if anything goes wrong
     */
    public static void main(String[] arguments) throws Exception {
        List<String> words = List.of(String.join(",", arguments).split(",", -1));
        List<String> settings =
                words.stream().filter(word -> word.contains("=")).toList();
        String[] kinds = words.stream().filter(word -> !word.contains("=")).toArray(String[]::new);
        for (TestDatabase database : Databases.chosen(kinds, DEFAULT)) {
            try (Arena arena = Arena.on(database, settings)) {
                print("%n%s%n%n", arena.label());
                print(
                        "| | cycles per second | of a cycle: the thread | the server | neither, in us |%n|---|---|---|---|---|%n");
                measure(arena).forEach((kind, use) -> print("| %s | %s |%n", kind.label(), use));
            }
        }
    }

    private static Map<Kind, Use> measure(Arena arena) throws Exception {
        Map<Kind, Use> uses = new EnumMap<>(Kind.class);
        for (Kind kind : Kind.libraries()) {
            new Use().add(arena.locks(kind), WARM_UP);
        }
        List<Kind> order = new ArrayList<>(Kind.libraries());
        Random random = new Random();
        for (int round = 0; round < ROUNDS; round++) {
            Collections.shuffle(order, random);
            for (Kind kind : order) {
                uses.computeIfAbsent(kind, first -> new Use()).add(arena.locks(kind), TURN);
            }
        }
        return uses;
    }

    /** The total times of one contestant over all turns. */
    private static final class Use {
        private long cycles;
        private long nanos;
        private long ofThread;
        private long ofServer;

        void add(Contestant locks, Duration time) throws Exception {
            long serverBefore = ofServers();
            long threadBefore = ofThisThread();
            long start = System.nanoTime();
            long elapsed = 0;
            while (elapsed < time.toNanos()) {
                locks.acquire("one name").release();
                cycles++;
                elapsed = System.nanoTime() - start;
            }
            nanos += elapsed;
            ofThread += ofThisThread() - threadBefore;
            ofServer += ofServers() - serverBefore;
        }

        private static long ofThisThread() {
            return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        }

        private static long ofServers() {
            return ProcessHandle.allProcesses()
                    .map(ProcessHandle::info)
                    .filter(process -> process.command().filter(SERVER).isPresent())
                    .flatMap(process -> process.totalCpuDuration().stream())
                    .mapToLong(Duration::toNanos)
                    .sum();
        }

        @Override
        public String toString() {
            double perCycle = 1e-3 / cycles;
            return String.format(
                    Locale.ROOT,
                    "%,.0f | %.0f | %.0f | %.0f",
                    cycles * 1e9 / nanos,
                    ofThread * perCycle,
                    ofServer * perCycle,
                    (nanos - ofThread - ofServer) * perCycle);
        }
    }

    private static void print(String format, Object... values) {
        System.out.print(String.format(Locale.ROOT, format, values));
    }
}
