package example.quickstart;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("process")
class QuickstartTest {

    private static final Duration PATIENCE = Duration.ofMinutes(3);

    @TempDir
    private Path temporary;

    @Test
    void sellsExactlyWhatThereIsUnderTheLock() throws InterruptedException {
        try (JavaProcess main = start("15")) {
            main.awaitLine(line -> line.startsWith("With Holdfast:"), PATIENCE);

            assertThat(main.waitFor(PATIENCE)).isZero();
            List<String> output = main.lines();
            assertThat(output).contains("Without a lock", "Under the lock \"stock:lamp\"");
            assertThat(output.get(output.size() - 1))
                    .isEqualTo("With Holdfast:  exactly 15 lamps were sold, one after the other.");

            assertThat(row("lamps in stock", output)).containsExactly("15", "15");
            List<String> sold = row("sold", output);
            assertThat(row("oversold by", output))
                    .containsExactly(String.valueOf(Integer.parseInt(sold.get(0)) - 15), "0");
            assertThat(sold.get(1)).isEqualTo("15");
            assertThat(row("left, says the stock", output).get(1)).isEqualTo("0");
            assertThat(row("fencing tokens strictly rising", output)).containsExactly("-", "yes");
            for (int worker = 1; worker <= 3; worker++) {
                assertThat(row("worker-" + worker + ": sales", output)).hasSize(2);
                assertThat(row("worker-" + worker + ": longest wait", output).get(1))
                        .endsWith(" ms");
            }
        }
        assertThat(temporary).isEmptyDirectory();
    }

    @Test
    void workersEndWhenTheMainProcessIsKilled() throws Exception {
        try (JavaProcess main = start("100000")) {
            main.awaitLine(line -> line.startsWith("Without a lock"), PATIENCE);
            List<ProcessHandle> workers =
                    ProcessHandle.of(main.pid()).orElseThrow().children().toList();
            assertThat(workers).hasSize(3);

            main.kill();

            for (ProcessHandle worker : workers) {
                worker.onExit().get(60, TimeUnit.SECONDS);
            }
        }
    }

    private JavaProcess start(String lamps) {
        return JavaProcess.of(Quickstart.class)
                .jvmArgs("-Djava.io.tmpdir=" + temporary)
                .args(lamps)
                .start();
    }

    /** The two cells of a row of the verdict: without a lock, with Holdfast. */
    private static List<String> row(String title, List<String> output) {
        Pattern row = Pattern.compile("  " + title + " {2,}(.+?) {2,}(.+)");
        Matcher matcher = output.stream()
                .map(row::matcher)
                .filter(Matcher::matches)
                .findFirst()
                .orElseThrow(() -> new AssertionError("No row: " + title));
        return List.of(matcher.group(1), matcher.group(2));
    }
}
