package io.github.holdfast.benchmark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/**
 * The results of each contestant in each round of one workload.
 *
 * @param <K> the contestants
 * @param <M> the results of one contestant in one round
 */
final class Results<K, M> {

    private final Map<K, List<M>> rounds = new LinkedHashMap<>();

    void add(K contestant, M measurement) {
        rounds.computeIfAbsent(contestant, key -> new ArrayList<>()).add(measurement);
    }

    /** Returns a quantile of one figure over all rounds. */
    double quantile(K contestant, double share, ToDoubleFunction<M> figure) {
        return quantile(share, values(contestant, figure));
    }

    /** Returns a quantile of the ratio between two contestants. Each ratio compares figures of the same round. */
    double ratio(K contestant, K other, double share, ToDoubleFunction<M> figure) {
        double[] ratios = values(contestant, figure);
        double[] others = values(other, figure);
        for (int round = 0; round < ratios.length; round++) {
            ratios[round] /= others[round];
        }
        return quantile(share, ratios);
    }

    Map<K, List<M>> rounds() {
        return rounds;
    }

    private double[] values(K contestant, ToDoubleFunction<M> figure) {
        return rounds.getOrDefault(contestant, List.of()).stream()
                .mapToDouble(figure)
                .toArray();
    }

    private static double quantile(double share, double... values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[(int) Math.round(share * (sorted.length - 1))];
    }
}
