package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.election.ElectionRequest;
import io.github.holdfast.election.LeaderElection;
import io.github.holdfast.election.Leadership;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.security.Principal;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What an application with Actuator answers about elections and about those who wait. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class ElectionsOverHttpTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final String ELECTIONS = "/actuator/locks/elections";
    private static final String WAITING = "/actuator/locks/waiting";
    private static final Principal ALICE = () -> "alice";
    private static final ElectionRequest REPORTS = ElectionRequest.of("reports").retryAfterEnd(Duration.ofMinutes(5));

    private AnnotationConfigWebApplicationContext context;
    private AnnotationConfigWebApplicationContext other;
    private LockService locks;
    private MockMvcTester http;

    @BeforeAll
    void start(Database database) {
        LockSchema.on(database.dataSource()).createIfMissing();
        context = EndpointApplication.start(database, Map.of("holdfast.endpoint.force-release", "enabled"));
        other = EndpointApplication.start(database, Map.of());
        locks = context.getBean(LockService.class);
        http = MockMvcTester.from(context);
    }

    @AfterAll
    void stop() {
        context.close();
        other.close();
    }

    private void awaitWaiting() {
        await().atMost(SOON).until(() -> !locks.admin().waitingNodes("reports").isEmpty());
    }

    @Test
    void leadersAreToldWithTheNodesThatWaitAndAreDeposed() {
        assertThat(http.get().uri(ELECTIONS)).hasStatusOk().bodyText().isEqualTo("{\"entries\":[],\"next\":null}");
        try (LeaderElection leading =
                        locks.election(REPORTS.candidate("10.0.0.7:8080").retryAfterEnd(Duration.ofMinutes(5)));
                LeaderElection alone = locks.election(ElectionRequest.of("stock"));
                LeaderElection waiting = other.getBean(LockService.class).election(REPORTS)) {
            leading.start();
            alone.start();
            await().atMost(SOON).until(() -> leading.isLeader() && alone.isLeader());
            waiting.start();
            awaitWaiting();
            long term = leading.leadership().map(Leadership::term).orElseThrow();
            assertThat(http.get().uri(ELECTIONS))
                    .hasStatusOk()
                    .bodyText()
                    .containsSubsequence(
                            "{\"entries\":[{\"name\":\"reports\",\"leader\":{\"name\":\"reports\"",
                            "\"candidate\":\"10.0.0.7:8080\",\"process\":\""
                                    + locks.admin().process() + "\"",
                            "\"term\":" + term + ",\"since\":\"20",
                            "\"isLeader\":true,\"waiting\":[{\"id\":\"",
                            "\"isAlive\":true",
                            "{\"name\":\"stock\",\"leader\":{",
                            "\"isLeader\":true,\"waiting\":[]}")
                    .endsWith("\"next\":null}");
            assertThat(http.get().uri(ELECTIONS + "?limit=1"))
                    .bodyText()
                    .doesNotContain("\"stock\"")
                    .endsWith("\"next\":\"reports\"}");
            assertThat(http.get().uri(ELECTIONS + "?after=reports&limit=1"))
                    .bodyText()
                    .startsWith("{\"entries\":[{\"name\":\"stock\"");

            assertThat(http.delete()
                            .uri("/actuator/locks/held?name=reports&reason=hangs&fencingToken=" + term)
                            .principal(ALICE))
                    .hasStatusOk();
            await().atMost(SOON).until(waiting::isLeader);
            await().atMost(SOON)
                    .untilAsserted(() -> assertThat(http.get().uri(ELECTIONS))
                            .bodyText()
                            .contains("\"isLeader\":false,\"waiting\":[]}"));
        }
    }

    @Test
    void whoWaitsForALockIsToldByItsName() {
        assertThat(http.get().uri(WAITING + "?name=nobody"))
                .hasStatusOk()
                .bodyText()
                .isEqualTo("[]");
        assertThat(http.get().uri(WAITING)).hasStatus(400);
        assertThat(http.get().uri(WAITING + "?name={name}", "a\nb")).hasStatus(400);
    }
}
