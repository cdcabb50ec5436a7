package io.github.holdfast.benchmark;

import io.github.holdfast.benchmark.contestant.Kind;
import io.github.holdfast.benchmark.contestant.Latencies;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import tools.jackson.databind.json.JsonMapper;

/** Writes the measurements as Markdown for people, and as JSON for programs. */
final class Report {

    private final StringBuilder markdown = new StringBuilder();
    private final Map<String, Map<String, Object>> json = new LinkedHashMap<>();
    private Map<String, Object> current = new LinkedHashMap<>();

    void database(String label) {
        current = new LinkedHashMap<>();
        json.put(label, current);
        print("%n## %s%n", label);
    }

    void workload(Workload workload, Results<Kind, Measurement> results) {
        current.put(workload.id(), results.rounds());
        print("%n**%s** %s%n%n", workload.id(), workload.label());
        print(
                "| | per second | p10 to p90 | to the floor | p10 to p90 | Holdfast to it | hand-overs per second | to the floor | wait: median, p99 |%n");
        print("|---|---|---|---|---|---|---|---|---|%n");
        for (Kind kind : results.rounds().keySet()) {
            ToDoubleFunction<Measurement> rate = Measurement::perSecond;
            ToDoubleFunction<Measurement> handOvers = Measurement::handOversPerSecond;
            print(
                    "| %s | %,.0f | %,.0f to %,.0f | %.2f | %.2f to %.2f | %.2f | %,.0f | %.2f | %.2f, %.2f ms |%n",
                    kind.label(),
                    results.quantile(kind, 0.5, rate),
                    results.quantile(kind, 0.1, rate),
                    results.quantile(kind, 0.9, rate),
                    results.ratio(kind, Kind.FLOOR, 0.5, rate),
                    results.ratio(kind, Kind.FLOOR, 0.1, rate),
                    results.ratio(kind, Kind.FLOOR, 0.9, rate),
                    results.ratio(Kind.HOLDFAST, kind, 0.5, rate),
                    results.quantile(kind, 0.5, handOvers),
                    results.ratio(kind, Kind.FLOOR, 0.5, handOvers),
                    results.quantile(kind, 0.5, Measurement::medianWait),
                    results.quantile(kind, 0.5, Measurement::longWait));
        }
    }

    void network(Map<Kind, Cycle> cycles, Map<Kind, Waiting> waiting, Cycle hibernate) {
        current.put("cycles", cycles);
        print("%n**W1, counted** what a cycle costs; **W5** 32 threads wait for a lock of another node%n%n");
        print(
                "| | round trips per cycle | bytes allocated | round trips of waiting, per second | connections | wake-up since the release's call: median, p90 | since its return |%n");
        print("|---|---|---|---|---|---|---|%n");
        waiting.forEach((kind, figures) -> {
            Latencies sinceCall = figures.wakeUps().sinceCall();
            Latencies sinceReturn = figures.wakeUps().sinceReturn();
            Cycle cycle = cycles.getOrDefault(kind, new Cycle(Double.NaN, Double.NaN));
            current.put(
                    "W5 " + kind,
                    Map.of(
                            "roundTripsPerSecond", figures.roundTripsPerSecond(),
                            "connections", figures.connections(),
                            "wakeUpMedian", sinceCall.quantile(0.5),
                            "wakeUpP90", sinceCall.quantile(0.9),
                            "wakeUpSinceReturnMedian", sinceReturn.quantile(0.5),
                            "wakeUpSinceReturnP90", sinceReturn.quantile(0.9)));
            print(
                    "| %s | %.1f | %,.0f | %.0f | %d | %.1f, %.1f ms | %.1f, %.1f ms |%n",
                    kind.label(),
                    cycle.roundTrips(),
                    cycle.allocatedBytes(),
                    figures.roundTripsPerSecond(),
                    figures.connections(),
                    sinceCall.quantile(0.5),
                    sinceCall.quantile(0.9),
                    sinceReturn.quantile(0.5),
                    sinceReturn.quantile(0.9));
        });
        current.put("two updates through Hibernate", hibernate);
        print(
                "%nTwo updates through Hibernate, each in a transaction: %.1f round trips, %,.0f bytes%n",
                hibernate.roundTrips(), hibernate.allocatedBytes());
    }

    void write(Path directory) throws IOException {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("locks.md"), markdown);
        JsonMapper.builder().build().writerWithDefaultPrettyPrinter().writeValue(directory.resolve("locks.json"), json);
    }

    private void print(String format, Object... values) {
        String line = String.format(Locale.ROOT, format, values);
        System.out.print(line);
        markdown.append(line);
    }
}
