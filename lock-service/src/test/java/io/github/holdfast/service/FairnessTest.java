package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two processes whose threads all want the same name, all the time. {@link WaitingTest} has those of one process. */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class FairnessTest {

    private static final int THREADS = 4;

    /** How often the lock goes to the other process. It has the lock for about a second, unless a busy machine lets it miss offers. */
    private static final int CHANGES = 10;

    private static final Duration SOON = ofSeconds(60);

    /** Counts how often a lock goes to another process, as far as it sees that. */
    private static final class Changes {

        private final Database database;
        private final String name;
        private @Nullable String last;
        private int count;

        Changes(Database database, String name) {
            this.database = database;
            this.name = name;
        }

        int soFar() {
            String node =
                    database.queryForString("select max(node_id) from distributed_lock where name = '" + name + "'");
            if (node != null && !node.equals(last)) {
                last = node;
                count++;
            }
            return count;
        }
    }

    @ParameterizedTest(name = "each for {0} ms")
    @ValueSource(ints = {0, 100})
    void everyThreadOfEveryProcessGetsItsTurn(int millis, Database database) throws Exception {
        try (Services services = Services.on(database)) {
            services.open();
        }
        List<List<Long>> one;
        List<List<Long>> other;
        try (JavaProcess worker = start(database, millis);
                JavaProcess rival = start(database, millis)) {
            worker.awaitLine("ready"::equals, JavaProcess.LONGEST_START);
            rival.awaitLine("ready"::equals, JavaProcess.LONGEST_START);
            worker.send("go");
            rival.send("go");
            Changes changes = new Changes(database, "hot " + millis);
            await().pollInterval(ofMillis(10)).atMost(ofMinutes(3)).until(() -> changes.soFar() > CHANGES);
            worker.send("stop");
            rival.send("stop");
            one = turns(worker);
            other = turns(rival);
        }
        List<Long> tokens = Stream.concat(one.stream(), other.stream())
                .flatMap(List::stream)
                .toList();
        String summary = "%s, each for %d ms: %d grants; threads %s and %s"
                .formatted(database, millis, tokens.size(), counts(one), counts(other));
        System.out.println(summary);
        assertThat(tokens).doesNotHaveDuplicates();
        assertEqualTurns(counts(one), summary);
        assertEqualTurns(counts(other), summary);
    }

    /** One turn more or less is the end of the test, not unfairness. */
    private static void assertEqualTurns(List<Integer> ofThreads, String summary) {
        assertThat((double) Collections.max(ofThreads))
                .as(summary)
                .isLessThanOrEqualTo(1.5 * Collections.min(ofThreads) + 1);
    }

    private static JavaProcess start(Database database, int millis) {
        return LockWorker.start(database, "turns", "hot " + millis, String.valueOf(THREADS), String.valueOf(millis));
    }

    private static List<List<Long>> turns(JavaProcess worker) throws InterruptedException {
        List<List<Long>> turns = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            String line = worker.awaitLine(text -> text.startsWith("turns "), JavaProcess.LONGEST_START);
            turns.add(Stream.of(line.split(" ")).skip(1).map(Long::valueOf).toList());
        }
        assertThat(worker.waitFor(SOON)).isZero();
        return turns;
    }

    private static List<Integer> counts(List<List<Long>> turns) {
        return turns.stream().map(List::size).toList();
    }
}
