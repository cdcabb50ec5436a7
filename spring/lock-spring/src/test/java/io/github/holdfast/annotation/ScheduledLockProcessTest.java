package io.github.holdfast.annotation;

import static io.github.holdfast.test.TestDatabase.MYSQL;
import static io.github.holdfast.test.TestDatabase.POSTGRESQL;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static java.util.stream.Collectors.toMap;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.JavaHome;
import io.github.holdfast.test.OnEachDatabase;
import io.github.holdfast.test.process.JavaProcess;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;

/** Two applications schedule one task; one of them is killed twice in the middle of a run. What happened is read from the history. */
@Tag("process")
@OnEachDatabase({POSTGRESQL, MYSQL}) // Those that it is promised for.
class ScheduledLockProcessTest {

    /** How long both are watched. */
    private static final int SECONDS = Integer.getInteger("holdfast.test.scheduled-seconds", 24);

    /** Long enough that the heartbeat of a loaded machine is in time. */
    private static final Duration NODE_LEASE = ofSeconds(5);

    private static final Duration SOON = ofMinutes(2);

    /** Both call the task more than 20 times in a second. If fewer than these could have begun a run, the machine had no time. */
    private static final int ENOUGH_CALLS = 3;

    private record Run(long period, long token, String status, long begunMicros, long endedMicros) {}

    /** A call of the task, with or without a run, in microseconds since 1970. */
    private record Call(long begunMicros, long endedMicros) {

        boolean isWithin(long second) {
            return begunMicros / 1_000_000 == second && endedMicros / 1_000_000 == second;
        }

        boolean overlapsOneOfBefore(long second, List<Call> calls) {
            return calls.stream()
                    .anyMatch(other -> other.begunMicros / 1_000_000 < second && other.endedMicros >= begunMicros);
        }
    }

    private final Map<Long, Long> killedAt = new HashMap<>();
    private final List<JavaProcess> processes = new ArrayList<>();
    private Database database;
    private JdbcTemplate jdbc;

    @BeforeEach
    void makeTables(Database injected) {
        database = injected;
        jdbc = new JdbcTemplate(database.dataSource());
        LockSchema.on(database.dataSource()).createIfMissing();
    }

    /** A number of microseconds since 1970. */
    private String micros(String instant) {
        return switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP, POSTGRESQL ->
                "cast(extract(epoch from " + instant + ") * 1000000 as bigint)";
            case MARIADB, MYSQL -> "timestampdiff(microsecond, '1970-01-01', " + instant + ")";
        };
    }

    private String nowQuery() {
        String now = switch (database.kind()) {
            case H2_MEMORY, H2_FILE, H2_TCP -> "current_timestamp(6)";
            case POSTGRESQL -> "clock_timestamp()";
            case MARIADB, MYSQL -> "utc_timestamp(6)";
        };
        return "select " + micros(now);
    }

    private long second() {
        return database.queryForLong(nowQuery()) / 1_000_000;
    }

    /** With virtual threads, if there is a JDK that has them. */
    private JavaProcess startSteady() {
        Path own = Path.of(System.getProperty("java.home"));
        return started(ScheduledLockProcess.start(
                JavaHome.ofVersion(21).orElse(own), database, NODE_LEASE, nowQuery(), ofMillis(97)));
    }

    /** At another rate, so that neither is the first in every period. */
    private JavaProcess startVictim() {
        Path own = Path.of(System.getProperty("java.home"));
        return started(ScheduledLockProcess.start(own, database, NODE_LEASE, nowQuery(), ofMillis(83)));
    }

    private JavaProcess started(JavaProcess process) {
        processes.add(process);
        return process;
    }

    private static void awaitCall(JavaProcess process) throws InterruptedException {
        process.awaitLine(line -> line.startsWith("called "), SOON);
    }

    @Test
    void eachPeriodHasOneRunAlthoughAProcessIsKilledTwice() throws Exception {
        try {
            JavaProcess steady = startSteady();
            JavaProcess victim = startVictim();
            awaitCall(steady);
            awaitCall(victim);
            long from = second() + 1;
            watchUntil(from + SECONDS / 6);
            killInTheMiddle(victim);
            victim = startVictim();
            awaitCall(victim);
            watchUntil(from + SECONDS / 2);
            killInTheMiddle(victim);
            awaitCall(startVictim());
            long to = from + SECONDS;
            watchUntil(to);
            // What has begun in the last second may not have ended.
            check(from, to - 2);
        } finally {
            processes.forEach(JavaProcess::close);
        }
    }

    private void killInTheMiddle(JavaProcess victim) throws InterruptedException {
        victim.send("hang");
        victim.awaitLine("hanging"::equals, SOON);
        victim.kill();
        long lost = database.queryForLong("select max(fencing_token) from lock_run where status = 'RUNNING'");
        killedAt.put(lost, second());
    }

    /** Two runs that are said to be running would be two at once. */
    private void watchUntil(long second) {
        await().atMost(SOON.plusSeconds(SECONDS)).pollInterval(ofMillis(50)).until(() -> {
            assertThat(database.queryForLong("select count(*) from lock_run where status = 'RUNNING'"))
                    .isLessThanOrEqualTo(1);
            return second() >= second;
        });
    }

    private void check(long from, long to) {
        List<Run> runs = jdbc.query(
                "select period, fencing_token, status, " + micros("begun_at") + ", " + micros("ended_at")
                        + " from lock_run where name = 'job' and period between ? and ? order by fencing_token",
                (row, number) ->
                        new Run(row.getLong(1), row.getLong(2), row.getString(3), row.getLong(4), row.getLong(5)),
                from,
                to);
        assertThat(killedAt).hasSize(2);
        assertThat(runs)
                .allSatisfy(run -> assertThat(run.status())
                        .as("%s", run)
                        .isEqualTo(killedAt.containsKey(run.token()) ? "LOST" : "SUCCEEDED"))
                .allSatisfy(run -> assertThat(run.begunMicros() / 1_000_000).isEqualTo(run.period()));
        for (int next = 1; next < runs.size(); next++) {
            Run before = runs.get(next - 1);
            Run run = runs.get(next);
            assertThat(run.period()).as("%s after %s", run, before).isGreaterThan(before.period());
            if (before.status().equals("SUCCEEDED")) {
                assertThat(run.begunMicros())
                        .as("%s after %s", run, before)
                        .isGreaterThanOrEqualTo(before.endedMicros());
            }
        }
        assertThatNothingIsMissing(runs.stream().collect(toMap(Run::period, Function.identity())), from, to);
    }

    /** A period without a run is one in which a dead process still had the lock, or the machine had no time. */
    private void assertThatNothingIsMissing(Map<Long, Run> runs, long from, long to) {
        List<Call> calls = calls();
        List<Long> possible = LongStream.rangeClosed(from, to)
                .filter(period -> couldHaveRun(period, calls))
                .boxed()
                .toList();
        List<Long> missing =
                possible.stream().filter(period -> !runs.containsKey(period)).toList();
        List<Long> unexplained = missing.stream()
                .filter(period -> runs.values().stream()
                        .filter(run -> killedAt.containsKey(run.token()))
                        .noneMatch(lost -> period > lost.period()
                                && period <= killedAt.getOrDefault(lost.token(), 0L) + NODE_LEASE.toSeconds() + 1))
                .toList();
        System.out.println("ScheduledLock on " + database.kind() + ": " + runs.size() + " runs in " + (to - from + 1)
                + " periods; without a run " + missing);
        assertThat(unexplained).isEmpty();
        assertThat(runs).as("most periods had a run").hasSizeGreaterThan(possible.size() / 3);
    }

    /** A call could have begun a run if no call of an earlier second, which may have had the lock until its end, was still at work. */
    private static boolean couldHaveRun(long period, List<Call> calls) {
        return calls.stream()
                        .filter(call -> call.isWithin(period) && !call.overlapsOneOfBefore(period, calls))
                        .count()
                >= ENOUGH_CALLS;
    }

    private List<Call> calls() {
        List<Call> calls = new ArrayList<>();
        for (JavaProcess process : processes) {
            for (String line : process.lines()) {
                String[] words = line.split(" ");
                if (words[0].equals("called")) {
                    calls.add(new Call(Long.parseLong(words[1]), Long.parseLong(words[2])));
                }
            }
        }
        return calls;
    }
}
