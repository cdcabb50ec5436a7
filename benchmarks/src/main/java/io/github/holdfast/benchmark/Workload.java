package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Load;
import java.time.Duration;
import java.util.List;

/**
 * A load on a number of processes.
 *
 * @param processes the number of processes; a single one is this process itself
 */
record Workload(String id, String label, int processes, Load load) {

    static List<Workload> all() {
        Duration hold = Duration.ofMillis(1);
        return List.of(
                new Workload("W1", "one thread, one name", 1, new Load(1, thread -> "w1", Duration.ZERO)),
                new Workload("W2", "16 threads, a name each", 1, new Load(16, thread -> "w2:" + thread, Duration.ZERO)),
                new Workload(
                        "W3", "8 threads of one node, one name, held for 1 ms", 1, new Load(8, thread -> "w3", hold)),
                new Workload(
                        "W4",
                        "2 processes with 4 threads each, one name, held for 1 ms",
                        2,
                        new Load(4, thread -> "w4", hold)));
    }

    boolean isContended() {
        return !load.hold().isZero();
    }

    /** Processes with two threads each, which want one lock. */
    static Workload handOvers(int processes, int holdMillis) {
        return new Workload(
                "H" + processes + ":" + holdMillis,
                processes + " processes with 2 threads each, one name, held for " + holdMillis + " ms",
                processes,
                new Load(2, thread -> "hand-over", Duration.ofMillis(holdMillis)));
    }

    static Workload of(String id) {
        if (id.startsWith("H")) {
            String[] numbers = id.substring(1).split(":", -1);
            return handOvers(Integer.parseInt(numbers[0]), Integer.parseInt(numbers[1]));
        }
        return all().stream()
                .filter(workload -> workload.id().equals(id))
                .findAny()
                .orElseThrow();
    }
}
