package io.github.holdfast.benchmark;

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

    static Workload of(String id) {
        return all().stream()
                .filter(workload -> workload.id().equals(id))
                .findAny()
                .orElseThrow();
    }
}
