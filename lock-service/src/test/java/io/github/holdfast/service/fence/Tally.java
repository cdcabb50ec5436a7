package io.github.holdfast.service.fence;

import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Counts verdicts for each way to lose and each way to hold. */
final class Tally {

    private final Map<List<Object>, Map<Verdict, Integer>> counts = new LinkedHashMap<>();

    void add(Cell cell, Verdict verdict) {
        counts.computeIfAbsent(List.of(cell.loss(), cell.hold()), first -> new EnumMap<>(Verdict.class))
                .merge(verdict, 1, Integer::sum);
    }

    int cells() {
        return counts.values().stream()
                .flatMap(each -> each.values().stream())
                .mapToInt(Integer::intValue)
                .sum();
    }

    /** A table of refused/still held/uncheckable/bug/vanished/not reached. */
    String table(List<Loss> losses) {
        Stream<String> rows = losses.stream()
                .map(loss -> "%-28s".formatted(loss)
                        + Stream.of(Hold.values())
                                .map(hold -> "%15s".formatted(counts(loss, hold)))
                                .collect(Collectors.joining()));
        String head = " ".repeat(28)
                + Stream.of(Hold.values())
                        .map(hold -> "%15.14s".formatted(hold))
                        .collect(Collectors.joining());
        return Stream.concat(Stream.of(head), rows).collect(Collectors.joining("\n"));
    }

    private String counts(Loss loss, Hold hold) {
        Map<Verdict, Integer> found = counts.get(List.of(loss, hold));
        return found == null
                ? "-"
                : Stream.of(Verdict.values())
                        .map(verdict -> String.valueOf(found.getOrDefault(verdict, 0)))
                        .collect(Collectors.joining("/"));
    }
}
