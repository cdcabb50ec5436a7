package io.github.holdfast.repository.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.process.JavaProcess;
import io.github.holdfast.test.sources.RecordedReflection;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** What the store reaches by reflection is what {@link StoreHints} allow in a native image. */
class StoreHintsTest {

    @Test
    void nothingIsMissing() throws Exception {
        try (JavaProcess process = JavaProcess.of(ReflectionProcess.class)
                .jvmArgs("-Xmx256m", RecordedReflection.agent())
                .start()) {
            assertThat(process.waitFor(Duration.ofMinutes(10)))
                    .as("%s", process.lines())
                    .isZero();
            assertThat(process.lines()).noneMatch(line -> line.startsWith("missing"));
            assertThat(process.lines()).anyMatch(line -> line.matches("covered: \\d{2,}"));
        }
    }
}
