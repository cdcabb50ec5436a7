package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FailureListenerTest {

    private static final String FAILURE =
            "[ERROR] io.github.holdfast.test.OnDatabaseTest$Sample fails(), on H2 (memory)";

    @TempDir
    private Path module = Path.of("set by JUnit");

    @Test
    void printsAFailureOfSurefireWithItsDatabaseAndStackTrace() throws Exception {
        List<String> lines = run("-Dsurefire.test.class.path=any");

        assertThat(lines)
                .containsSequence(FAILURE, "java.lang.AssertionError: on purpose")
                .anyMatch(line -> line.startsWith("\tat " + OnDatabaseTest.Sample.class.getName() + ".fails("));
        assertThat(lines.stream().filter(line -> line.startsWith("[ERROR]"))).containsExactly(FAILURE);
    }

    @Test
    void othersPrintFailuresThemselves() throws Exception {
        assertThat(run("-Dany=other"))
                .contains("found 3, succeeded 1, failed 1")
                .noneMatch(line -> line.startsWith("[ERROR]"));
    }

    private List<String> run(String property) throws InterruptedException {
        try (JavaProcess run = JavaProcess.of(OnDatabaseTest.Launch.class)
                .jvmArgs("-Dbasedir=" + module, property)
                .args(OnDatabaseTest.Sample.class.getName())
                .start()) {
            assertThat(run.waitFor(Duration.ofMinutes(3))).isZero();
            return run.lines();
        }
    }
}
