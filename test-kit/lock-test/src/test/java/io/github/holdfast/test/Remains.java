package io.github.holdfast.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;

/** What a JVM that has ended could leave behind. */
final class Remains {

    private static final Duration LONG = Duration.ofMinutes(1);

    private Remains() {}

    /** Waits until neither the directories are there nor a process that names one, be it the one that deletes it. */
    static void awaitNone(Collection<Path> directories) {
        await().atMost(LONG).untilAsserted(() -> {
            assertThat(directories).noneMatch(Files::exists);
            assertThat(commandLines()).noneMatch(line -> namesOne(line, directories));
        });
    }

    private static boolean namesOne(String line, Collection<Path> directories) {
        return directories.stream().anyMatch(directory -> line.contains(directory.toString()));
    }

    private static List<String> commandLines() {
        return ProcessHandle.allProcesses()
                .flatMap(process -> process.info().commandLine().stream())
                .toList();
    }
}
