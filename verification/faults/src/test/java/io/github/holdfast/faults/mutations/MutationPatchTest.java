package io.github.holdfast.faults.mutations;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whether the patches of {@link MutationTest} still fit the sources, and the tests them. */
class MutationPatchTest {

    private static final Pattern TEST = Pattern.compile("(\\w+)(?:\\$(\\w+))?#(\\w+)");

    /** The tests that a class inherits. */
    private static final Pattern CONTRACT = Pattern.compile("\nclass \\w+ extends (\\w+Contract)\\b");

    private static final Pattern DATABASES = Pattern.compile("\n@OnEachDatabase(?:\\(([^)]+)\\))?");

    /** What the annotation means without kinds. */
    private static final String DEFAULT = "H2_MEMORY, POSTGRESQL, MARIADB, MYSQL";

    static List<Mutation> mutations() {
        return Mutation.all();
    }

    @ParameterizedTest
    @MethodSource("mutations")
    void itFitsTheSources(Mutation mutation) throws Exception {
        assertThat(mutation.mutated()).isNotEqualTo(mutation.original());
    }

    @ParameterizedTest
    @MethodSource("mutations")
    void theTestThatHasToCatchItExists(Mutation mutation) throws IOException {
        Matcher test = TEST.matcher(mutation.test());
        assertThat(test.matches()).isTrue();
        String source = Files.readString(mutation.testSource(test.group(1)));
        if (test.group(2) != null) {
            Matcher nested = Pattern.compile("class " + test.group(2) + " extends (\\w+)")
                    .matcher(source);
            assertThat(nested.find()).as(mutation.test()).isTrue();
            source = Files.readString(mutation.testSource(nested.group(1)));
        }
        Matcher contract = CONTRACT.matcher(source);
        String inherited = contract.find() ? Files.readString(mutation.testSource(contract.group(1))) : "";
        assertThat(source + inherited).contains(" void " + test.group(3) + "(");
        Matcher databases = DATABASES.matcher(source);
        assertThat(databases.find() && test.group(2) == null)
                .as("has several databases")
                .isEqualTo(!mutation.database().isEmpty());
        if (!mutation.database().isEmpty()) {
            assertThat(databases.group(1) == null ? DEFAULT : databases.group(1))
                    .containsIgnoringCase(mutation.database());
        }
    }
}
