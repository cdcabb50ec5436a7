package io.github.holdfast.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.TestDatabase;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Processes that use locks while they are killed, frozen and cut off, and what their history proves.
 *
 * <p>System properties: {@code faults.seed}, {@code faults.duration} in seconds (20), {@code faults.database} (names of {@link
 * TestDatabase}, with commas; two at a time; where there are none, it is not run); with {@code faults.unfenced=true} it must fail.
 */
@EnabledIfSystemProperty(
        named = "faults.database",
        matches = ".+",
        disabledReason = "no database was named: see docs/understand/testing.md")
@Tag("long")
@Execution(ExecutionMode.CONCURRENT)
class FaultTest {

    static Stream<TestDatabase> databases() {
        return Arrays.stream(System.getProperty("faults.database", "").split(","))
                .map(TestDatabase::valueOf);
    }

    @ParameterizedTest
    @MethodSource("databases")
    void faultsBreakNoPromise(TestDatabase kind) throws Exception {
        long seed = Long.getLong("faults.seed", System.nanoTime());
        Duration duration = Duration.ofSeconds(Integer.getInteger("faults.duration", 20));
        Path directory = Path.of("target", "faults", kind.name() + "-" + seed);
        System.out.printf("Faults on %s with -Dfaults.seed=%d; the history is in %s%n", kind.label(), seed, directory);

        History history = new FaultRun(kind, seed, duration, directory).history();
        Verdict verdict = new HistoryChecker(FaultRun.FREE_WITHIN).judge(history);

        List<Operation> operations = history.operations();
        Facts seen = placesSeen(operations);
        System.out.printf(
                "%s: %s%nplaces in queues seen: %d, %d of them of fair requests%n%s%n",
                kind.label(), figures(operations), seen.value(), seen.holds(), verdict);
        assertThat(verdict.violations()).as("with seed %d: %s", seed, verdict).isEmpty();
        assertThat(operations).as("grants").anyMatch(operation -> operation.is(Action.ACQUIRE, Phase.OK));
        assertThat(operations).as("row locks").anyMatch(operation -> operation.is(Action.ROW_ACQUIRE, Phase.OK));
        assertThat(operations).as("shares").anyMatch(operation -> operation.is(Action.SHARE, Phase.OK));
        assertThat(operations).as("reads").anyMatch(operation -> operation.is(Action.READ, Phase.OK));
        assertThat(operations).as("guarded commits").anyMatch(operation -> operation.is(Action.COMMIT, Phase.OK));
        assertThat(seen.value()).as("places in queues").isPositive();
        assertThat(seen.holds()).as("places of fair requests").isPositive();
    }

    private static Facts placesSeen(List<Operation> operations) {
        return operations.stream()
                .filter(operation -> operation.is(Action.PLACES_SEEN, Phase.OK))
                .findFirst()
                .orElseThrow()
                .facts();
    }

    /** How many operations of each kind came out how. */
    private static Map<String, Long> figures(List<Operation> operations) {
        return operations.stream()
                .collect(Collectors.groupingBy(
                        operation -> operation.action()
                                + (operation.action() == Action.FAULT
                                        ? " " + operation.facts().owner()
                                        : "")
                                + " " + operation.outcome(),
                        TreeMap::new,
                        Collectors.counting()));
    }
}
