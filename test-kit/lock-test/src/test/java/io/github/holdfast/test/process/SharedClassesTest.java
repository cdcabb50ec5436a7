package io.github.holdfast.test.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SharedClassesTest {

    private static final String PROPERTY = "holdfast.test.classes";
    private static final Duration LONG = Duration.ofMinutes(2);

    @AfterEach
    void shareNothing() {
        System.clearProperty(PROPERTY);
    }

    @Test
    void whatTheFirstProcessHasLoadedTheNextOnesHaveFromTheArchive(@TempDir Path directory) throws Exception {
        System.setProperty(PROPERTY, directory.resolve("shared").toString());
        assertThat(sourceOfTheDriver(directory.resolve("first")))
                .contains("h2-")
                .doesNotContain("shared objects");
        await().atMost(LONG).until(() -> isThereAnArchive(directory));
        assertThat(sourceOfTheDriver(directory.resolve("second"))).contains("shared objects");
    }

    private static boolean isThereAnArchive(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.anyMatch(file -> file.toString().endsWith(".jsa"));
        }
    }

    private static String sourceOfTheDriver(Path log) throws Exception {
        try (JavaProcess process = JavaProcess.of(Loading.class)
                .jvmArgs("-Xlog:class+load:file=" + log)
                .start()) {
            process.awaitLine("loaded"::equals, LONG);
            process.kill();
        }
        try (Stream<String> lines = Files.lines(log)) {
            return lines.filter(line -> line.contains("org.h2.Driver "))
                    .findFirst()
                    .orElseThrow();
        }
    }

    static final class Loading {
        private Loading() {}

        public static void main(String[] args) throws Exception {
            JavaProcess.exitWithParent();
            Class.forName("org.h2.Driver");
            // The list is written in blocks: what follows writes the one of the driver.
            Class.forName("org.h2.engine.Database");
            Class.forName("org.h2.server.web.WebServer");
            System.out.println("loaded");
            new CountDownLatch(1).await();
        }
    }
}
