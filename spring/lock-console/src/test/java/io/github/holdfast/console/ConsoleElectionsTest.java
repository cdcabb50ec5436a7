package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What the console answers about elections, and that it deposes leaders. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class ConsoleElectionsTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String STATE = "/holdfast/state";
    private static final ElectionRequest REPORTS =
            ElectionRequest.of("reports").candidate("<b>:8080").retryAfterEnd(Duration.ofMinutes(5));

    private AnnotationConfigWebApplicationContext application;
    private AnnotationConfigWebApplicationContext other;
    private LockService locks;
    private LockService otherLocks;
    private MockMvcTester http;

    @BeforeAll
    void start(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        Map<String, Object> properties =
                Map.of("holdfast.console.enabled", "true", "holdfast.console.force-release", "enabled");
        application = ConsoleOverHttpTest.start(database, properties);
        other = ConsoleOverHttpTest.start(database, properties);
        locks = application.getBean(LockService.class);
        otherLocks = other.getBean(LockService.class);
        http = MockMvcTester.from(application);
    }

    @AfterAll
    void stop() {
        application.close();
        other.close();
    }

    private static long lead(LeaderElection election) {
        election.start();
        await().atMost(SOON).until(election::isLeader);
        return election.leadership().map(Leadership::term).orElseThrow();
    }

    private void awaitWaiting() {
        await().atMost(SOON).until(() -> !locks.admin().waitingNodes("reports").isEmpty());
    }

    @Test
    void anElectionIsToldOnceWithItsLeaderAndTheNodesThatWait() throws Exception {
        try (LeaderElection leading = locks.election(REPORTS);
                LeaderElection waiting = otherLocks.election(REPORTS);
                LockHandle lock = locks.acquire(LockRequest.of("order"))) {
            long term = lead(leading);
            waiting.start();
            awaitWaiting();
            assertThat(http.get().uri(STATE))
                    .bodyText()
                    .contains("\"held\":[{\"name\":\"order\",", "\"fencingToken\":\"" + lock.fencingToken() + "\"")
                    .doesNotContain("{\"name\":\"reports\",\"mode\"")
                    .containsSubsequence(
                            "\"elections\":[{\"name\":\"reports\",\"isLeader\":true,\"leader\":{\"name\":\"reports\"",
                            "\"holder\":\"<b>:8080\",\"process\":\""
                                    + locks.admin().process() + "\"",
                            "\"fencingToken\":\"" + term + "\",\"acquiredAt\":\"20",
                            "\"waiting\":[{\"id\":\"",
                            "\"isAlive\":true",
                            "}]}],\"semaphores\"");
            assertThat(http.get().uri(STATE + "?from=reports"))
                    .as("the name from which the list begins")
                    .bodyText()
                    .contains("\"held\":[]", "\"elections\":[{\"name\":\"reports\"");
            assertThat(MockMvcTester.from(other).get().uri(STATE))
                    .bodyText()
                    .contains("\"elections\":[{\"name\":\"reports\",\"isLeader\":false,\"leader\":{");
        }
    }

    @Test
    void aLeaderIsDeposed() {
        try (LeaderElection stuck = locks.election(REPORTS)) {
            long term = lead(stuck);
            assertThat(http.post()
                            .uri("/holdfast/release")
                            .header("X-Requested-With", "XMLHttpRequest")
                            .principal(() -> "alice")
                            .param("name", "reports")
                            .param("fencingToken", Long.toString(term))
                            .param("reason", "hangs"))
                    .hasStatusOk();
            await().atMost(SOON).until(() -> !stuck.isLeader());
            assertThat(http.get().uri(STATE))
                    .bodyText()
                    .contains(
                            "\"elections\":[{\"name\":\"reports\",\"isLeader\":false,\"leader\":null,\"waiting\":[]}]");
        }
    }
}
