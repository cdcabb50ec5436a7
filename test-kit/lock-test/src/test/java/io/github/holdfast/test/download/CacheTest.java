package io.github.holdfast.test.download;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.holdfast.test.process.JavaProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CacheTest {

    private static final String PROPERTY = "holdfast.test.cache";
    private static final Duration LONG = Duration.ofSeconds(30);

    @BeforeEach
    void useTemporaryCache(@TempDir Path cache) {
        System.setProperty(PROPERTY, cache.toString());
    }

    @AfterEach
    void useUsualCache() {
        System.clearProperty(PROPERTY);
    }

    @Test
    void isFilledOnce() {
        Path filled = Cache.filled("thing", directory -> Files.writeString(directory.resolve("file"), "first"));
        assertThat(filled.resolve("file")).hasContent("first");
        assertThat(Cache.filled("thing", directory -> {
                    throw new IOException("not called");
                }))
                .isEqualTo(filled);
    }

    @Test
    void incompleteIsNeverUsed() {
        assertThatThrownBy(() -> Cache.filled("thing", directory -> {
                    Files.writeString(directory.resolve("half"), "");
                    throw new IOException("line dropped");
                }))
                .isInstanceOf(UncheckedIOException.class);
        assertThat(Cache.directory().resolve("thing")).doesNotExist();

        Path filled = Cache.filled("thing", directory -> Files.writeString(directory.resolve("file"), "second"));
        assertThat(filled).isDirectoryContaining("glob:**/file").isDirectoryNotContaining("glob:**/half");
        assertThat(Cache.directory()).isDirectoryNotContaining("glob:**incomplete**");
    }

    @Test
    void otherJvmWaitsUntilItIsFilled() throws InterruptedException {
        String cache = "-D" + PROPERTY + "=" + Cache.directory();
        try (JavaProcess first = JavaProcess.of(Filling.class).jvmArgs(cache).start();
                JavaProcess second =
                        JavaProcess.of(Filling.class).jvmArgs(cache).start()) {
            first.awaitLine("started"::equals, LONG);
            second.awaitLine("started"::equals, LONG);
            first.send("");
            first.awaitLine("filling"::equals, LONG);
            second.send("");
            first.send("");
            first.awaitLine("filled"::equals, LONG);
            second.send("");
            second.awaitLine("filled"::equals, LONG);
            assertThat(List.of(first.lines(), second.lines()))
                    .containsExactly(List.of("started", "filling", "filled"), List.of("started", "filled"));
        }
    }

    static final class Filling {
        private Filling() {}

        public static void main(String[] args) throws IOException {
            System.out.println("started");
            System.in.read();
            Cache.filled("thing", directory -> {
                System.out.println("filling");
                System.in.read();
            });
            System.out.println("filled");
        }
    }
}
