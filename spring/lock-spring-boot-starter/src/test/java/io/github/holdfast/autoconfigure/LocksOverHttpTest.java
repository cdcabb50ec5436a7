package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.task.TaskLock;
import io.github.holdfast.task.TaskOutcome;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import java.net.URI;
import java.security.Principal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What an application with Actuator answers. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class LocksOverHttpTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    private Database database;
    private AnnotationConfigWebApplicationContext context;
    private AnnotationConfigWebApplicationContext careless;
    private LockService locks;
    private MockMvcTester http;

    private static final String TAKE_AWAY = "/actuator/locks/held?name=order:3";
    private static final Principal ALICE = () -> "alice";

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        LockSchema.on(database.dataSource()).createIfMissing();
        context = EndpointApplication.start(database, Map.of());
        careless = EndpointApplication.start(database, Map.of("holdfast.endpoint.force-release", "enabled"));
        locks = context.getBean(LockService.class);
        http = MockMvcTester.from(context);
    }

    @AfterAll
    void stop() {
        context.close();
        careless.close();
    }

    @Test
    void heldLocksAreToldInPages() throws Exception {
        try (LockHandle script = locks.acquire(LockRequest.of("<script>alert('1')</script>"));
                LockHandle leased = locks.acquire(LockRequest.of("order:1/2").lease(Duration.ofMinutes(1)))) {
            assertThat(http.get().uri("/actuator/locks?limit=1"))
                    .hasStatusOk()
                    .hasContentType("application/vnd.spring-boot.actuator.v3+json")
                    .bodyText()
                    .contains("\"name\":\"<script>alert('1')</script>\"")
                    .contains("\"fencingToken\":" + script.fencingToken())
                    .contains("\"expiresIn\":\"PT")
                    .endsWith("\"next\":\"<script>alert('1')</script>\"}");
            assertThat(http.get().uri("/actuator/locks/held?limit=1&after={name}", script.name()))
                    .bodyText()
                    .contains("\"fencingToken\":" + leased.fencingToken())
                    .contains("\"nodeId\":null");
            assertThat(http.get().uri("/actuator/locks/held?limit=1&after=order:1/2"))
                    .bodyText()
                    .isEqualTo("{\"entries\":[],\"next\":null}");
            assertThat(http.get().uri("/actuator/locks/nodes"))
                    .hasStatusOk()
                    .bodyText()
                    .contains("\"isAlive\":true");
        }
    }

    @Test
    void oneLockIsFoundByWhateverItsNameIs() throws Exception {
        try (LockHandle slashed = locks.acquire(LockRequest.of("order:1/2"));
                LockHandle script = locks.acquire(LockRequest.of("<script>"))) {
            assertThat(http.get().uri("/actuator/locks/held?name=order:1/2"))
                    .hasStatusOk()
                    .bodyText()
                    .contains("\"fencingToken\":" + slashed.fencingToken());
            assertThat(http.get().uri(URI.create("/actuator/locks/held?name=%3Cscript%3E")))
                    .hasStatusOk()
                    .bodyText()
                    .contains("\"fencingToken\":" + script.fencingToken());
        }
        assertThat(http.get().uri("/actuator/locks/held?name=order:1//2")).hasStatus(404);
        assertThat(http.get().uri("/actuator/locks/nonsense")).hasStatus(404);
        assertThat(http.get().uri("/actuator/locks?limit=0")).hasStatus(400);
        assertThat(http.get().uri("/actuator/locks?limit=many")).hasStatus(400);
    }

    @Test
    void runsOfTasksAreToldInPages() throws Exception {
        TaskLock report = locks.task(TaskRequest.of("report/<daily>").minimumHold(Duration.ofMillis(1)));
        List<Long> tokens = new ArrayList<>();
        for (int run = 0; run < 3; run++) {
            await().atMost(SOON)
                    .until(() -> report.runIfDue(lock -> tokens.add(lock.fencingToken())) == TaskOutcome.SUCCEEDED);
        }
        assertThatIllegalStateException()
                .isThrownBy(() -> locks.task(TaskRequest.of("sweep").every(Duration.ofDays(1)))
                        .runIfDue(lock -> {
                            throw new IllegalStateException("no broom");
                        }));

        assertThat(http.get().uri("/actuator/locks/runs?limit=1"))
                .hasStatusOk()
                .bodyText()
                .contains("\"name\":\"report/<daily>\"", "\"fencingToken\":" + tokens.get(2), "\"period\":null")
                .contains("\"status\":\"SUCCEEDED\"", "\"error\":null")
                .containsPattern("\"endedAt\":\"[0-9-]+T[0-9:.]+Z\"")
                .endsWith("\"next\":\"report/<daily>\"}");
        assertThat(http.get().uri("/actuator/locks/runs?after=report/<daily>"))
                .hasStatusOk()
                .bodyText()
                .contains("\"name\":\"sweep\"", "\"status\":\"FAILED\"", "no broom")
                .doesNotContain("report")
                .endsWith("\"next\":null}");

        assertThat(http.get().uri("/actuator/locks/runs?limit=2&name=report/<daily>"))
                .hasStatusOk()
                .bodyText()
                .containsSubsequence("\"fencingToken\":" + tokens.get(2), "\"fencingToken\":" + tokens.get(1))
                .doesNotContain(String.valueOf(tokens.get(0)))
                .endsWith("\"next\":\"" + tokens.get(1) + "\"}");
        assertThat(http.get().uri("/actuator/locks/runs?limit=2&name=report/<daily>&after=" + tokens.get(1)))
                .bodyText()
                .contains("\"fencingToken\":" + tokens.get(0))
                .endsWith("\"next\":null}");
        assertThat(http.get().uri("/actuator/locks/runs?name=unknown"))
                .hasStatusOk()
                .bodyText()
                .isEqualTo("{\"entries\":[],\"next\":null}");
        assertThat(http.get().uri("/actuator/locks/runs?name=sweep&after=yesterday"))
                .hasStatus(400);
        assertThat(http.get().uri("/actuator/locks/runs?name=sweep&limit=1001")).hasStatus(400);
    }

    @Test
    void lockIsTakenAwayOnlyIfAllowedBySomebodyKnownAndWithAReason() throws Exception {
        MockMvcTester allowed = MockMvcTester.from(careless);
        LockHandle lock = locks.acquire(LockRequest.of("order:3"));

        assertThat(http.delete().uri(TAKE_AWAY + "&reason=stuck").principal(ALICE))
                .hasStatus(403)
                .bodyText()
                .contains("holdfast.endpoint.force-release=enabled");
        assertThat(allowed.delete().uri(TAKE_AWAY + "&reason=alice: stuck"))
                .hasStatus(403)
                .bodyText()
                .contains("authenticated");
        assertThat(allowed.delete().uri(TAKE_AWAY).principal(ALICE)).hasStatus(400);
        assertThat(allowed.delete().uri(TAKE_AWAY + "&reason= ").principal(ALICE))
                .hasStatus(400);
        assertThat(allowed.delete().uri(TAKE_AWAY + "&reason={r}", "a\nb").principal(ALICE))
                .hasStatus(400);
        assertThat(allowed.delete()
                        .uri("/actuator/locks/nodes?name=order:3&reason=stuck")
                        .principal(ALICE))
                .hasStatus(404);
        assertThat(allowed.delete()
                        .uri(TAKE_AWAY + "&reason=stuck&fencingToken=the last one")
                        .principal(ALICE))
                .hasStatus(400);
        assertThat(allowed.delete()
                        .uri(TAKE_AWAY + "&reason=stuck&fencingToken=" + (lock.fencingToken() - 1))
                        .principal(ALICE))
                .hasStatus(409)
                .bodyText()
                .contains("Another owner holds the lock now");
        assertThat(locks.find("order:3")).isPresent();

        assertThat(allowed.delete()
                        .uri(TAKE_AWAY + "&reason={r}&fencingToken=" + lock.fencingToken(), " stuck ")
                        .principal(ALICE))
                .hasStatusOk()
                .bodyText()
                .contains("\"fencingToken\":" + lock.fencingToken());
        assertThat(database.queryForLong("select count(*) from lock_audit where lock_name = 'order:3'"
                        + " and reason = 'alice: stuck' and fencing_token = " + lock.fencingToken()))
                .isEqualTo(1);
        assertThat(allowed.delete().uri(TAKE_AWAY + "&reason=stuck").principal(ALICE))
                .hasStatus(404);
        assertThat(allowed.delete()
                        .uri(TAKE_AWAY + "&reason=stuck&fencingToken=" + lock.fencingToken())
                        .principal(ALICE))
                .hasStatus(404);
        lock.release();
    }

    @Test
    void healthIsThatOfTheTables() throws Exception {
        try (LockHandle unused = locks.acquire(LockRequest.of("order:4"))) {
            assertThat(http.get().uri("/actuator/health/locks"))
                    .hasStatusOk()
                    .bodyText()
                    .contains("\"status\":\"UP\"", "\"clockOffset\":\"PT", "\"heartbeatAge\":\"PT");
        }
        database.execute("alter table distributed_lock rename to elsewhere");
        try {
            assertThat(http.get().uri("/actuator/health/locks"))
                    .hasStatus(503)
                    .bodyText()
                    .contains("\"status\":\"DOWN\"", "holdfast:health");
        } finally {
            database.execute("alter table elsewhere rename to distributed_lock");
        }
    }

    @Test
    void locksOfTheServiceAreCounted() throws Exception {
        MeterRegistry registry = context.getBean(MeterRegistry.class);
        try (LockHandle unused = locks.acquire(LockRequest.of("counted:1"))) {
            assertThat(registry.get("holdfast.lock.active")
                            .tag("group", "counted")
                            .gauge()
                            .value())
                    .isEqualTo(1);
            await().atMost(SOON).until(() -> registry.find("holdfast.heartbeat").timer() != null);
            assertThat(registry.get("holdfast.heartbeat.age").gauge().value()).isBetween(0d, 60d);
            assertThat(registry.get("holdfast.clock.step").gauge().value()).isZero();
            assertThat(registry.get("holdfast.lock.waiting").gauge().value()).isZero();
        }
        assertThat(registry.get("holdfast.lock.active")
                        .tag("group", "counted")
                        .gauge()
                        .value())
                .isZero();
        assertThat(registry.get("holdfast.lock.acquire")
                        .tags("group", "counted", "outcome", "acquired")
                        .timer()
                        .count())
                .isEqualTo(1);
    }
}
