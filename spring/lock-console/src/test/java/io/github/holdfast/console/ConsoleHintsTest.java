package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;

/** A native image contains each file of the page. */
class ConsoleHintsTest {

    @Test
    void eachFileIsThere() throws Exception {
        RuntimeHints hints = new RuntimeHints();
        new ConsoleHints().registerHints(hints, null);
        Path page = Path.of(Objects.requireNonNull(ConsolePage.class.getResource("console.html"))
                .toURI());
        try (Stream<Path> files = Files.list(page.getParent())) {
            List<String> names = files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.endsWith(".class"))
                    .toList();
            assertThat(names)
                    .hasSizeGreaterThan(3)
                    .allSatisfy(name -> assertThat(hints)
                            .matches(RuntimeHintsPredicates.resource()
                                    .forResource("io/github/holdfast/console/" + name)));
        }
    }
}
