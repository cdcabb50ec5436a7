package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMinutes;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.JavaHome;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Virtual threads, in a process of their own, because the tests run on older JDKs too. */
@OnEachDatabase({POSTGRESQL, MYSQL}) // What matters happens in the process.
class VirtualThreadTest {

    /** Before 24 every {@code synchronized} of a driver pins (https://openjdk.org/jeps/491). */
    private static final int JDK = 25;

    @Test
    void aThousandVirtualThreadsGetTheirLocksAndNothingOfOursPinsThem(Database database) throws Exception {
        Path javaHome = JavaHome.required(JDK);
        try (Services services = Services.on(database)) {
            services.open();
        }
        List<String> lines;
        try (JavaProcess worker = VirtualThreadWorker.start(javaHome, database)) {
            worker.awaitLine("end of pinned"::equals, ofMinutes(3));
            lines = worker.lines();
        }
        Map<String, Long> pinned = lines.stream()
                .filter(line -> line.startsWith("pinned "))
                .collect(Collectors.groupingBy(Function.identity(), TreeMap::new, Collectors.counting()));
        System.out.println(database + ": " + pinned);
        assertThat(lines).contains("turns " + VirtualThreadWorker.THREADS + " overlaps 0");
        assertThat(pinned.remove(VirtualThreadWorker.ON_PURPOSE))
                .as("what pins on purpose is seen")
                .isEqualTo(1);
        assertThat(pinned.keySet()).noneMatch(line -> line.startsWith("pinned ours"));
    }
}
