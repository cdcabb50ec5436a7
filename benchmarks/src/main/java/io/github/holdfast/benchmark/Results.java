package io.github.holdfast.benchmark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** The results of each contestant in each round of one workload on one database. */
final class Results {

    private final Map<Kind, List<Measurement>> rounds = new LinkedHashMap<>();

    void add(Kind kind, Measurement measurement) {
        rounds.computeIfAbsent(kind, key -> new ArrayList<>()).add(measurement);
    }

    /** Returns a quantile of one figure over all rounds. */
    double quantile(Kind kind, double share, ToDoubleFunction<Measurement> figure) {
        return quantile(share, values(kind, figure));
    }

    /** Returns a quantile of the ratio between two contestants. Each ratio compares figures of the same round. */
    double ratio(Kind kind, Kind other, double share, ToDoubleFunction<Measurement> figure) {
        double[] ratios = values(kind, figure);
        double[] others = values(other, figure);
        for (int round = 0; round < ratios.length; round++) {
            ratios[round] /= others[round];
        }
        return quantile(share, ratios);
    }

    Map<Kind, List<Measurement>> rounds() {
        return rounds;
    }

    private double[] values(Kind kind, ToDoubleFunction<Measurement> figure) {
        return rounds.getOrDefault(kind, List.of()).stream().mapToDouble(figure).toArray();
    }

    private static double quantile(double share, double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.round(share * (sorted.length - 1))];
    }
}
