package io.github.holdfast.service;

import static io.github.holdfast.test.TestDatabase.H2_TCP;
import static io.github.holdfast.test.TestDatabase.MARIADB;
import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.test.Database;
import io.github.holdfast.test.JavaProcess;
import io.github.holdfast.test.OnEachDatabase;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Two processes whose threads all want the same name, all the time. {@link WaitingTest} has those of one process. */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class FairnessTest {

    private static final int THREADS = 4;

    /** Ten runs of a second: with four busy loops beside it, two to five of a hundred offers are missed, and two in a row one day. */
    private static final Duration TIME = ofSeconds(10);

    private static final Duration SOON = ofSeconds(60);

    /** On a busy machine, a process is ready only after a minute. */
    private static final Duration UNTIL_READY = ofMinutes(3);

    /** A thread's grants, by their fencing tokens: each grant has the next one. */
    private record Turns(List<Long> tokens) {

        static Turns of(String line) {
            return new Turns(
                    Stream.of(line.split(" ")).skip(1).map(Long::valueOf).toList());
        }

        int count() {
            return tokens.size();
        }

        /** How many grants in a row the others had between these two, at the most. */
        long longestWait(long first, long last) {
            long longest = 0;
            long before = first - 1;
            for (long token : tokens.stream()
                    .filter(token -> first <= token && token <= last)
                    .toList()) {
                longest = Math.max(longest, token - before - 1);
                before = token;
            }
            return Math.max(longest, last - before);
        }
    }

    @ParameterizedTest(name = "each for {0} ms")
    @ValueSource(ints = {0, 100})
    void everyThreadOfEveryProcessGetsItsTurn(int millis, Database database) throws Exception {
        try (Services services = Services.on(database)) {
            services.open();
        }
        List<Turns> one;
        List<Turns> other;
        try (JavaProcess worker = start(database, millis);
                JavaProcess rival = start(database, millis)) {
            worker.awaitLine("ready"::equals, UNTIL_READY);
            rival.awaitLine("ready"::equals, UNTIL_READY);
            worker.send("go");
            rival.send("go");
            one = turns(worker);
            other = turns(rival);
        }
        List<Turns> all = new ArrayList<>(one);
        all.addAll(other);
        List<Long> tokens = tokens(all).boxed().toList();
        assertThat(tokens).doesNotHaveDuplicates();
        // On a slow machine, one process may begin or end seconds before the other.
        long first = Math.max(firstToken(one), firstToken(other));
        long last = Math.min(lastToken(one), lastToken(other));
        long longestWait = Collections.max(
                all.stream().map(turns -> turns.longestWait(first, last)).toList());
        String summary =
                "%s, each for %d ms: %d grants; threads %s and %s, max/min %.2f; processes %d and %d; %d grants without a turn at most"
                        .formatted(
                                database,
                                millis,
                                tokens.size(),
                                counts(one),
                                counts(other),
                                ratio(all),
                                sum(one),
                                sum(other),
                                longestWait);
        System.out.println(summary);
        // A process has the lock for about a second before it lets the other one look.
        assertThat(longestWait).as(summary).isLessThan(tokens.size() / 2);
        assertEqualTurns(counts(one), summary);
        assertEqualTurns(counts(other), summary);
    }

    private static LongStream tokens(List<Turns> turns) {
        return turns.stream().flatMap(ofOne -> ofOne.tokens().stream()).mapToLong(Long::longValue);
    }

    private static long firstToken(List<Turns> turns) {
        return tokens(turns).min().orElseThrow();
    }

    private static long lastToken(List<Turns> turns) {
        return tokens(turns).max().orElseThrow();
    }

    /** One turn more or less is the end of the test, not unfairness. */
    private static void assertEqualTurns(List<Integer> ofThreads, String summary) {
        assertThat((double) Collections.max(ofThreads))
                .as(summary)
                .isLessThanOrEqualTo(1.5 * Collections.min(ofThreads) + 1);
    }

    private static JavaProcess start(Database database, int millis) {
        return LockWorker.start(
                database,
                "turns",
                "hot " + millis,
                String.valueOf(THREADS),
                String.valueOf(TIME.toSeconds()),
                String.valueOf(millis));
    }

    private static List<Turns> turns(JavaProcess worker) throws InterruptedException {
        List<Turns> turns = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            turns.add(Turns.of(worker.awaitLine(line -> line.startsWith("turns "), TIME.plus(SOON))));
        }
        assertThat(worker.waitFor(SOON)).isZero();
        return turns;
    }

    private static List<Integer> counts(List<Turns> turns) {
        return turns.stream().map(Turns::count).toList();
    }

    private static int sum(List<Turns> turns) {
        return turns.stream().mapToInt(Turns::count).sum();
    }

    private static double ratio(List<Turns> turns) {
        return Collections.max(counts(turns)) / (double) Collections.min(counts(turns));
    }
}
