package io.github.holdfast.repository;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.aot.agent.RecordedInvocation;

/** What the store reaches by reflection is what {@link StoreHints} allow in a native image. */
class StoreHintsTest {

    @Test
    void nothingIsMissing() throws Exception {
        Path agent = Path.of(RecordedInvocation.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (JavaProcess process = JavaProcess.of(ReflectionProcess.class)
                .jvmArgs("-Xmx256m", "-javaagent:" + agent + "=+org.springframework,+org.hibernate,+io.github.holdfast")
                .start()) {
            assertThat(process.waitFor(Duration.ofMinutes(2)))
                    .as("%s", process.lines())
                    .isZero();
            assertThat(process.lines()).noneMatch(line -> line.startsWith("missing"));
            assertThat(process.lines()).anyMatch(line -> line.matches("covered: \\d{2,}"));
        }
    }
}
