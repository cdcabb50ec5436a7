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
import io.github.holdfast.test.Proxy;
import io.github.holdfast.test.process.JavaProcess;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Two processes take part in an election, while the leader resigns, is killed, frozen, or cut off from the database. The system property
 * {@code holdfast.election.rounds} says how often.
 */
@Tag("process")
@OnEachDatabase({H2_TCP, POSTGRESQL, MARIADB, MYSQL})
class ElectionProcessTest {

    private static final int ROUNDS = Integer.getInteger("holdfast.election.rounds", 4);
    private static final Duration NODE_LEASE = ofSeconds(5);
    private static final Duration SOON = ofMinutes(3);

    /** Longer than a takeover takes on a busy machine. */
    private static final Duration LONG = ofSeconds(20);

    private final List<Candidate> candidates = new ArrayList<>();
    private final List<Candidate> former = new ArrayList<>();
    private final List<Double> failOvers = new ArrayList<>();
    private Database database;
    private Ledger ledger;

    /** What ends a leadership. */
    private enum End {
        RESIGNATION,
        KILL,
        FREEZE,
        CUT
    }

    /** A process, with a network of its own. */
    private record Candidate(JavaProcess process, Proxy proxy) implements AutoCloseable {

        static Candidate start(Database database) throws InterruptedException {
            Proxy proxy = Proxy.to(database.url());
            return new Candidate(
                    ElectionWorker.start(proxy.url(), database.user(), database.password(), NODE_LEASE), proxy);
        }

        Stream<String[]> told(String what) {
            return process.lines().stream().map(line -> line.split(" ")).filter(words -> words[0].equals(what));
        }

        /** The last term that it was granted; 0 if there is none. */
        long term() {
            return told("granted")
                    .mapToLong(words -> Long.parseLong(words[1]))
                    .max()
                    .orElse(0);
        }

        long grantedAt() {
            return told("granted")
                    .mapToLong(words -> Long.parseLong(words[2]))
                    .max()
                    .orElse(0);
        }

        boolean leads() {
            long term = term();
            return term != 0 && told("revoked").noneMatch(words -> Long.parseLong(words[1]) == term);
        }

        void await(Predicate<String> line) throws InterruptedException {
            String unused = process.awaitLine(line, SOON);
        }

        @Override
        public void close() throws IOException {
            process.close();
            proxy.close();
        }
    }

    /** When a process has led for certain, by the monotonic clock of this machine. */
    private record Reign(long term, long first, long last) {

        static Reign of(String[] words) {
            return new Reign(Long.parseLong(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
        }
    }

    @BeforeEach
    void open(Database injected) throws Exception {
        database = injected;
        try (Services unused = Services.on(database)) {
            Services.emptyTables(database);
        }
        ledger = Ledger.create(database);
        candidates.add(Candidate.start(database));
        candidates.add(Candidate.start(database));
    }

    @AfterEach
    void close() throws Exception {
        for (Candidate candidate :
                Stream.concat(candidates.stream(), former.stream()).toList()) {
            candidate.close();
        }
    }

    /** Waits for a leader with a later term. */
    private Candidate awaitLeader(long after) {
        return await().pollInterval(ofMillis(2))
                .atMost(SOON)
                .until(
                        () -> candidates.stream()
                                .filter(candidate -> candidate.term() > after && candidate.leads())
                                .findFirst()
                                .orElse(null),
                        found -> found != null);
    }

    @Test
    void thereAreNeverTwoLeadersWhateverEndsALeadership() throws Exception {
        for (int round = 0; round < ROUNDS; round++) {
            End end = End.values()[round % End.values().length];
            Candidate leader = awaitLeader(0);
            end(leader, end);
        }
        for (Candidate candidate : candidates) {
            candidate.process().send("close");
            candidate.await("closed"::equals);
        }
        List<Candidate> all =
                Stream.concat(candidates.stream(), former.stream()).toList();
        assertNeverTwo(all);
        assertTold(all);
        System.out.printf(
                "%s: %d rounds, the next one leads %s ms after a resignation%n", database.kind(), ROUNDS, failOvers);
    }

    private void end(Candidate leader, End end) throws Exception {
        long term = leader.term();
        switch (end) {
            case RESIGNATION -> {
                awaitNextCandidate();
                long start = System.nanoTime();
                leader.process().send("resign");
                Candidate next = awaitLeader(term);
                failOvers.add(Math.round((next.grantedAt() - start) / 1e5) / 10.0);
                assertThat(next).isNotSameAs(leader);
            }
            case KILL -> {
                leader.process().kill();
                candidates.remove(leader);
                former.add(leader);
                Candidate unused = awaitLeader(term);
                candidates.add(Candidate.start(database));
            }
            case FREEZE -> freeze(leader);
            case CUT -> {
                leader.proxy().set(Proxy.Mode.BLACK_HOLE);
                if (!isOvertakenSoon(term)) {
                    // Cut off between a heartbeat and its commit, it keeps the row of its node until the server ends
                    // the connection.
                    leader.proxy().cut();
                }
                Candidate next = awaitLeader(term);
                assertThat(next).isNotSameAs(leader);
                leader.proxy().cut();
                leader.proxy().set(Proxy.Mode.PASS);
                leader.await(line -> line.startsWith("revoked " + term + " "));
            }
        }
    }

    /**
     * After a round, the former leader rests, and one that was started is not waiting yet. The row of a waiter may stay for a moment
     * after its node leads.
     */
    private void awaitNextCandidate() {
        await().pollInterval(ofMillis(20))
                .atMost(SOON)
                .until(() -> database.queryForLong(
                                "select count(*) from lock_waiter w join distributed_lock l on l.name = w.name"
                                        + " where l.node_id <> w.node_id")
                        > 0);
    }

    /** Frozen between a heartbeat and its commit, it keeps the row of its node from everybody: then it is tried again. */
    private void freeze(Candidate leader) throws InterruptedException {
        long term = leader.term();
        boolean isOvertaken = false;
        while (!isOvertaken) {
            leader.process().pause();
            isOvertaken = isOvertakenSoon(term);
            leader.process().resume();
        }
        leader.await(line -> line.startsWith("revoked " + term + " "));
    }

    /** Waits for a while until another one has led. */
    private boolean isOvertakenSoon(long term) {
        long start = System.nanoTime();
        await().pollInterval(ofMillis(20))
                .atMost(SOON)
                .until(() -> isOvertaken(term) || System.nanoTime() - start > LONG.toNanos());
        return isOvertaken(term);
    }

    private boolean isOvertaken(long term) {
        return candidates.stream().anyMatch(candidate -> candidate.term() > term);
    }

    private static void assertNeverTwo(List<Candidate> all) {
        Map<Long, Reign> reigns = new HashMap<>();
        for (Candidate candidate : all) {
            candidate.told("led").map(Reign::of).forEach(reign -> reigns.put(reign.term(), reign));
        }
        List<Reign> inOrder = reigns.values().stream()
                .sorted(Comparator.comparingLong(Reign::first))
                .toList();
        assertThat(inOrder).hasSizeGreaterThan(1);
        for (int i = 1; i < inOrder.size(); i++) {
            assertThat(inOrder.get(i).first() - inOrder.get(i - 1).last())
                    .as("%s after %s", inOrder.get(i), inOrder.get(i - 1))
                    .isPositive();
            assertThat(inOrder.get(i).term()).isGreaterThan(inOrder.get(i - 1).term());
        }
    }

    /** Each grant was told once, and its end too, unless the process was killed. */
    private void assertTold(List<Candidate> all) {
        List<Long> granted = all.stream()
                .flatMap(candidate -> candidate.told("granted"))
                .map(words -> Long.parseLong(words[1]))
                .toList();
        assertThat(granted).doesNotHaveDuplicates().hasSizeGreaterThan(ROUNDS);
        for (Candidate candidate : all) {
            List<String> terms =
                    candidate.told("granted").map(words -> words[1]).toList();
            List<String> ended =
                    candidate.told("revoked").map(words -> words[1]).toList();
            assertThat(ended)
                    .as(
                            "ended, in %s",
                            Arrays.toString(candidate.process().lines().toArray()))
                    .isEqualTo(former.contains(candidate) ? terms.subList(0, ended.size()) : terms);
        }
    }

    @Test
    void aDeposedLeaderCannotCommitWhatItBeganBefore() throws Exception {
        Candidate leader = awaitLeader(0);
        long term = leader.term();
        leader.process().send("post");
        leader.await(("between " + term)::equals);
        freeze(leader);
        Candidate next = awaitLeader(term);
        assertThat(next).isNotSameAs(leader);
        next.process().send("post");
        next.await(("between " + next.term())::equals);
        next.process().send("go");
        next.await(("committed " + next.term())::equals);
        leader.process().send("go");
        leader.await(("refused " + term)::equals);
        assertThat(ledger.faults(1)).isEmpty();
    }
}
