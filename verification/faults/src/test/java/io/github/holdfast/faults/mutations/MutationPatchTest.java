package io.github.holdfast.faults.mutations;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whether the patches of {@link MutationTest} still fit the sources, and the tests and the document them. */
class MutationPatchTest {

    private static final Path DOCUMENT = Mutation.PROJECT.resolve(Path.of("docs", "testing.md"));

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

    @Test
    void theDocumentListsThemAll() throws IOException {
        String section =
                Files.readString(DOCUMENT).split("\n## Mutations\n", 2)[1].split("\n## ", 2)[0];
        assertThat(section.lines().filter(line -> line.startsWith("| `")))
                .containsExactlyElementsOf(Mutation.all().stream()
                        .map(it -> "| `%s` | %s | `%s`%s |"
                                .formatted(
                                        it.name(),
                                        it.broken(),
                                        it.test(),
                                        it.database().isEmpty() ? "" : " on `" + it.database() + "`"))
                        .toList());
    }
}
