package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
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
        List<String> lines = run(OnDatabaseTest.Sample.class, "-Dholdfast.test.totals-only=true");

        assertThat(lines)
                .containsSequence(FAILURE, "java.lang.AssertionError: on purpose")
                .anyMatch(line -> line.startsWith("\tat " + OnDatabaseTest.Sample.class.getName() + ".fails("));
        assertThat(lines.stream().filter(line -> line.startsWith("[ERROR]"))).containsExactly(FAILURE);
    }

    @Test
    void printsTheDatabaseOfAClassThatRunsOnEach() throws Exception {
        assertThat(run(OnDatabaseTest.OnEach.class, "-Dholdfast.test.totals-only=true"))
                .anyMatch(line -> line.startsWith("[ERROR] ") && line.endsWith(", on H2 (file)"));
    }

    @Test
    void othersPrintFailuresThemselves() throws Exception {
        assertThat(run(OnDatabaseTest.Sample.class, "-Dholdfast.test.totals-only=false"))
                .contains("found 3, succeeded 1, failed 1")
                .noneMatch(line -> line.startsWith("[ERROR]"));
    }

    private List<String> run(Class<?> sample, String property) throws InterruptedException {
        try (JavaProcess run = JavaProcess.of(OnDatabaseTest.Launch.class)
                .jvmArgs("-Dbasedir=" + module, property, "-Dholdfast.test.mysql.url=jdbc:mysql://127.0.0.1:1/mysql")
                .args(sample.getName())
                .env("CI", "")
                .start()) {
            assertThat(run.waitFor(Duration.ofMinutes(3))).isZero();
            return run.lines();
        }
    }
}
