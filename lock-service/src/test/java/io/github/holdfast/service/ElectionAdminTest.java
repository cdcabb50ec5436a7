package io.github.holdfast.service;

import static java.time.Duration.ZERO;
import static java.time.Duration.ofMinutes;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.LeaderInfo;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.test.OnEachDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What operators see of elections: who leads, and which nodes wait. */
@OnEachDatabase
class ElectionAdminTest extends TwoServicesContract {

    private final List<LeaderElection> elections = new ArrayList<>();

    @AfterEach
    void endElections() {
        elections.forEach(LeaderElection::close);
        elections.clear();
        await().atMost(SOON).until(() -> mine.admin().elections("", 10).isEmpty());
        await().atMost(SOON).until(() -> mine.admin().waiting() + theirs.admin().waiting() == 0);
    }

    private static ElectionRequest request(String name) {
        return ElectionRequest.of(name).retryAfterEnd(ZERO);
    }

    private LeaderElection started(LockService service, ElectionRequest request) {
        LeaderElection election = service.election(request);
        elections.add(election);
        election.start();
        return election;
    }

    private LeaderElection led(LockService service, ElectionRequest request) {
        LeaderElection election = started(service, request);
        await().atMost(SOON).until(election::isLeader);
        return election;
    }

    private void awaitWaitingNode(String name) {
        await().atMost(SOON).until(() -> mine.admin().waitingNodes(name).size() == 1);
    }

    /** The node of the service that holds a lock. */
    private String nodeOf(String name) {
        return Objects.requireNonNull(mine.find(name).orElseThrow().nodeId());
    }

    private static List<String> names(List<ElectionInfo> page) {
        return page.stream().map(ElectionInfo::name).toList();
    }

    private static ElectionInfo only(LockService service) {
        List<ElectionInfo> all = service.admin().elections("", 10);
        assertThat(all).hasSize(1);
        return all.get(0);
    }

    @Test
    void anElectionIsToldWithItsLeaderAndTheNodesThatWait() throws Exception {
        LeaderElection first =
                led(mine, request("reports").candidate("node-1:8080").retryAfterEnd(ofMinutes(5)));
        LeaderElection second = started(theirs, request("reports"));
        awaitWaitingNode("reports");

        ElectionInfo here = only(mine);
        LeaderInfo leader = Objects.requireNonNull(here.leader());
        assertThat(leader).isEqualTo(second.leader().orElseThrow());
        assertThat(leader.name()).isEqualTo(here.name()).isEqualTo("reports");
        assertThat(leader.candidate()).isEqualTo("node-1:8080");
        assertThat(leader.process()).isEqualTo(mine.admin().process());
        assertThat(leader.term()).isEqualTo(first.leadership().orElseThrow().term());
        assertThat(here.isLeader()).isTrue();
        NodeInfo waiting = here.waiting().get(0);
        assertThat(waiting.description()).isEqualTo(theirs.admin().process());
        assertThat(waiting.isAlive()).isTrue();
        assertThat(waiting.id()).isNotEqualTo(nodeOf("reports"));
        ElectionInfo there = only(theirs);
        assertThat(there.leader()).isEqualTo(leader);
        assertThat(there.isLeader()).isFalse();
        assertThat(there.waiting()).extracting(NodeInfo::id).containsExactly(waiting.id());

        assertThat(theirs.admin().forceRelease("reports", leader.term(), "a test"))
                .isPresent();
        await().atMost(SOON).until(second::isLeader);
        assertThat(nodeOf("reports")).isEqualTo(waiting.id());
        await().atMost(SOON).until(() -> only(mine).waiting().isEmpty());
        assertThat(only(mine).isLeader()).isFalse();
        assertThat(only(theirs).isLeader()).isTrue();
        assertThat(only(mine).leader())
                .as("a candidate that has no name is its process")
                .extracting(LeaderInfo::candidate, LeaderInfo::process)
                .containsOnly(theirs.admin().process());
    }

    @Test
    void whatTheLeaderOrSomebodyElseLocksIsNoElection() throws Exception {
        ElectionDiary diary = new ElectionDiary(
                leadership -> mine.acquire(LockRequest.of("of the work")).detach());
        LeaderElection election = mine.election(request("reports"));
        elections.add(election);
        election.start(diary);
        await().atMost(SOON).until(() -> mine.find("of the work").isPresent());
        try (LockHandle unused = theirs.acquire(LockRequest.of("order"))) {
            assertThat(names(theirs.admin().elections("", 10))).containsExactly("reports");
        }
        mine.admin().forceRelease("of the work", "a test");
    }

    @Test
    void anElectionWithoutALeaderIsToldByTheServiceThatHasACandidate() throws Exception {
        try (LockHandle unused = theirs.acquire(LockRequest.of("reports"))) {
            LeaderElection waiting = started(mine, request("reports"));
            awaitWaitingNode("reports");
            ElectionInfo election = only(mine);
            assertThat(election.leader()).isNull();
            assertThat(election.isLeader()).isFalse();
            assertThat(election.waiting())
                    .extracting(NodeInfo::description)
                    .containsExactly(mine.admin().process());
            assertThat(theirs.admin().elections("", 10)).isEmpty();
            waiting.close();
            await().atMost(SOON)
                    .until(() -> theirs.admin().waitingNodes("reports").isEmpty());
            assertThat(mine.admin().elections("", 10)).isEmpty();
        }
    }

    @Test
    void aNodeIsToldOnlyForTheNameThatItWaitsFor() throws Exception {
        try (LockHandle first = mine.acquire(LockRequest.of("first"));
                LockHandle second = theirs.acquire(LockRequest.of("second"))) {
            var behindFirst = threads.submit(
                    () -> theirs.call(LockRequest.of("first").waitAtMost(ofSeconds(60)), lock -> "first"));
            var behindSecond = threads.submit(
                    () -> mine.call(LockRequest.of("second").waitAtMost(ofSeconds(60)), lock -> "second"));
            awaitWaitingNode("first");
            awaitWaitingNode("second");
            assertThat(mine.admin().waitingNodes("first"))
                    .extracting(NodeInfo::id)
                    .containsExactly(nodeOf("second"));
            assertThat(mine.admin().waitingNodes("second"))
                    .extracting(NodeInfo::id)
                    .containsExactly(nodeOf("first"));
            assertThat(mine.admin().waitingNodes("third")).isEmpty();
            first.release();
            second.release();
            assertThat(get(behindFirst) + get(behindSecond)).isEqualTo("firstsecond");
        }
    }

    @Test
    void electionsAreToldInPagesInTheOrderOfNames() throws Exception {
        try (LockHandle unused = theirs.acquire(LockRequest.of("b"));
                LockHandle alsoUnused = theirs.acquire(LockRequest.of("d"))) {
            for (String name : List.of("e", "a", "c")) {
                led(mine, request(name));
            }
            // Without a leader.
            started(mine, request("d"));
            assertThat(names(mine.admin().elections("", 2))).containsExactly("a", "c");
            assertThat(names(mine.admin().elections("c", 2))).containsExactly("d", "e");
            assertThat(names(mine.admin().elections("e", 2))).isEmpty();
            assertThat(names(theirs.admin().elections("", 10))).containsExactly("a", "c", "e");
            endElections();
        }
    }

    /** H2 sorts the second name before the first, and the other databases after it. */
    @Test
    void pagesAreCompleteWhateverTheOrderOfTheDatabase() throws Exception {
        List<String> led = List.of("\uFF21", "\uD83D\uDE00");
        try (LockHandle unused = theirs.acquire(LockRequest.of("\uFF22"))) {
            for (String name : led) {
                led(mine, request(name));
            }
            // Without a leader.
            started(mine, request("\uFF22"));
            List<ElectionInfo> read = new ArrayList<>();
            List<ElectionInfo> page = mine.admin().elections("", 1);
            while (!page.isEmpty() && read.size() < 10) {
                read.addAll(page);
                page = mine.admin().elections(page.get(0).name(), 1);
            }
            assertThat(names(read)).containsExactlyInAnyOrder("\uFF21", "\uFF22", "\uD83D\uDE00");
            assertThat(read)
                    .allSatisfy(election -> assertThat(election.isLeader()).isEqualTo(led.contains(election.name())));
            endElections();
        }
    }
}
