package io.github.holdfast.faults.mutations;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Whether the tests catch bugs that are put into the production code.
 *
 * <p>System property: {@code faults.mutations}, {@code all} or names of patches with commas, without which it is not run.
 */
@EnabledIfSystemProperty(
        named = "faults.mutations",
        matches = ".+",
        disabledReason = "run by hand: see docs/understand/testing.md")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MutationTest {

    private static final Path DIRECTORY = Path.of("target", "mutations");

    private final Map<String, String> table = new TreeMap<>();

    static List<Mutation> mutations() {
        String wanted = System.getProperty("faults.mutations", "");
        if (wanted.equals("all")) {
            return Mutation.all();
        }
        List<String> names = Arrays.asList(wanted.split(",", -1));
        List<Mutation> named = Mutation.all().stream()
                .filter(mutation -> names.contains(mutation.name()))
                .toList();
        assertThat(named).extracting(Mutation::name).containsExactlyInAnyOrderElementsOf(names);
        return named;
    }

    /** Or it would not be the mutation that they fail for. */
    @Test
    void withoutAMutationTheTestsPass() throws Exception {
        Set<String> tests = new LinkedHashSet<>();
        for (Mutation mutation : mutations()) {
            tests.add(mutation.qualifiedTest());
        }
        Outcome outcome = new Trial(DIRECTORY.resolve("none")).run(List.copyOf(tests));
        assertThat(outcome.isPassed(tests.size())).as("%s", outcome).isTrue();
    }

    @ParameterizedTest
    @MethodSource("mutations")
    void aMutationIsCaught(Mutation mutation) throws Exception {
        Trial trial = new Trial(DIRECTORY.resolve(mutation.name()));
        trial.mutate(mutation);
        Outcome outcome = trial.run(List.of(mutation.qualifiedTest()));
        table.put(mutation.name(), outcome.isFound() ? mutation.test() : "nobody");
        assertThat(outcome.isFound())
                .as("%s, to be caught by %s: %s", mutation.broken(), mutation.test(), outcome)
                .isTrue();
    }

    @AfterAll
    void print() {
        table.forEach((mutation, caughtBy) -> System.out.printf("%-32s caught by %s%n", mutation, caughtBy));
    }
}
