package io.github.holdfast.sharding;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.BiConsumer;
import java.util.stream.Collectors;

/** What holders of locks have seen, and whether it is what locks promise. Thread-safe. */
final class History {

    /**
     * One hold, by the clock of this process.
     *
     * @param from after the grant
     * @param until before the release
     */
    record Hold(String name, String release, long token, long from, long until) {}

    private final Collection<Hold> holds = new ConcurrentLinkedQueue<>();

    void add(Hold hold) {
        holds.add(hold);
    }

    long count(String release) {
        return holds.stream().filter(hold -> hold.release().equals(release)).count();
    }

    /** Checks that no name had two holders at once, and that each holder had a greater token than all before. */
    void check() {
        Map<String, List<Hold>> byName =
                holds.stream().sorted(Comparator.comparingLong(Hold::from)).collect(Collectors.groupingBy(Hold::name));
        byName.values()
                .forEach(ofName -> check(
                        ofName,
                        (before, after) -> assertThat(after.from() - before.until())
                                .as("%s begins after %s", after, before)
                                .isNotNegative()));
        byName.values()
                .forEach(ofName -> check(
                        ofName,
                        (before, after) -> assertThat(after.token())
                                .as("token of %s after %s", after, before)
                                .isGreaterThan(before.token())));
    }

    private static void check(List<Hold> ofName, BiConsumer<Hold, Hold> oneAfterTheOther) {
        for (int i = 1; i < ofName.size(); i++) {
            oneAfterTheOther.accept(ofName.get(i - 1), ofName.get(i));
        }
    }
}
