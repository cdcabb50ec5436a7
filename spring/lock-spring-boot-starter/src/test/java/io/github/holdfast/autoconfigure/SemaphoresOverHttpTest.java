package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.semaphore.SemaphoreInfo;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import java.security.Principal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.MediaType;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MockMvcTester.MockMvcRequestBuilder;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What an application with Actuator answers about semaphores, and what it changes. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class SemaphoresOverHttpTest {

    private static final String SEMAPHORES = "/actuator/locks/semaphores";
    private static final Principal ALICE = () -> "alice";
    private static final String CHANGE = "{'name': 'exports', 'limit': 5, 'reason': 'Christmas'}";

    private Database database;
    private AnnotationConfigWebApplicationContext context;
    private AnnotationConfigWebApplicationContext careless;
    private LockService locks;
    private MockMvcTester http;
    private MockMvcTester allowed;

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        LockSchema.on(database.dataSource()).createIfMissing();
        context = EndpointApplication.start(database, Map.of());
        careless = EndpointApplication.start(database, Map.of("holdfast.endpoint.force-release", "enabled"));
        locks = context.getBean(LockService.class);
        http = MockMvcTester.from(context);
        allowed = MockMvcTester.from(careless);
    }

    @AfterEach
    void empty() {
        database.execute("delete from lock_holder", "delete from distributed_lock", "delete from lock_audit");
    }

    @AfterAll
    void stop() {
        context.close();
        careless.close();
    }

    private LockHandle acquire(SemaphoreRequest request) {
        return locks.semaphore(request).tryAcquire().orElseThrow();
    }

    private static SemaphoreRequest exports() {
        return SemaphoreRequest.of("exports").limit(3);
    }

    private int limit() {
        return locks.admin()
                .semaphores()
                .find("exports")
                .map(SemaphoreInfo::limit)
                .orElseThrow();
    }

    private long records(String condition) {
        return database.queryForLong("select count(*) from lock_audit where lock_name = 'exports' and " + condition);
    }

    @Test
    void semaphoresAreToldInPages() {
        assertThat(http.get().uri(SEMAPHORES)).bodyText().isEqualTo("{\"entries\":[],\"next\":null}");
        try (LockHandle unused = acquire(exports().permits(2));
                LockHandle other = acquire(SemaphoreRequest.of("im/ports").limit(1))) {
            assertThat(http.get().uri(SEMAPHORES + "?limit=1"))
                    .hasStatusOk()
                    .bodyText()
                    .isEqualTo("{\"entries\":[{\"name\":\"exports\",\"limit\":3,\"used\":2,\"available\":1}],"
                            + "\"next\":\"exports\"}");
            assertThat(http.get().uri(SEMAPHORES + "?after=exports"))
                    .bodyText()
                    .isEqualTo("{\"entries\":[{\"name\":\"im/ports\",\"limit\":1,\"used\":1,\"available\":0}],"
                            + "\"next\":null}");
        }
        assertThat(http.get().uri(SEMAPHORES + "?limit=1001")).hasStatus(400);
    }

    @Test
    void holdersOfASemaphoreAreToldByItsName() throws Exception {
        assertThat(http.get().uri(SEMAPHORES + "?name=exports")).hasStatus(404);
        try (LockHandle lock = locks.acquire(LockRequest.of("lock"));
                LockHandle leased = acquire(exports().permits(2).limit(4).lease(Duration.ofMinutes(1)));
                LockHandle living = acquire(exports())) {
            assertThat(http.get().uri(SEMAPHORES + "?name=exports"))
                    .hasStatusOk()
                    .bodyText()
                    .startsWith("[{\"name\":\"exports\",\"owner\":\"" + leased.owner())
                    .containsSubsequence(
                            "\"nodeId\":null,\"fencingToken\":" + leased.fencingToken()
                                    + ",\"permits\":2,\"acquiredAt\":\"20",
                            "\"expiresIn\":\"PT",
                            "\"nodeId\":\"",
                            "\"fencingToken\":" + living.fencingToken() + ",\"permits\":1");
            assertThat(http.get().uri(SEMAPHORES + "?name=" + lock.name())).hasStatus(404);
        }
        assertThat(http.get().uri(SEMAPHORES + "?name=exports"))
                .as("a semaphore without holders")
                .hasStatusOk()
                .bodyText()
                .isEqualTo("[]");
        assertThat(http.get().uri(SEMAPHORES + "?name={name}", "a\nb")).hasStatus(400);
    }

    private static MockMvcRequestBuilder release(MockMvcTester through, String parameters) {
        return through.delete().uri(SEMAPHORES + "?name=exports" + parameters);
    }

    @Test
    void permitsAreTakenAwayOnlyIfAllowedBySomebodyKnownWithAReasonAndAToken() {
        LockHandle stuck = acquire(exports().permits(2));
        LockHandle other = acquire(exports());
        String token = "&fencingToken=" + stuck.fencingToken();
        assertThat(release(http, token + "&reason=stuck").principal(ALICE))
                .hasStatus(403)
                .bodyText()
                .contains("holdfast.endpoint.force-release=enabled");
        assertThat(release(allowed, token + "&reason=stuck"))
                .hasStatus(403)
                .bodyText()
                .contains("authenticated");
        for (String wrong : List.of(token, token + "&reason= ", "&reason=stuck", "&reason=stuck&fencingToken=last")) {
            assertThat(release(allowed, wrong).principal(ALICE)).hasStatus(400);
        }
        assertThat(allowed.delete()
                        .uri(SEMAPHORES + "?name=exports&reason={r}" + token, "a\nb")
                        .principal(ALICE))
                .hasStatus(400);
        assertThat(release(allowed, "&reason=stuck&fencingToken=" + (stuck.fencingToken() - 1))
                        .principal(ALICE))
                .hasStatus(404);
        assertThat(locks.admin().semaphores().permits("exports")).hasSize(2);

        assertThat(release(allowed, token + "&reason=stuck").principal(ALICE))
                .hasStatusOk()
                .bodyText()
                .contains("\"fencingToken\":" + stuck.fencingToken() + ",\"permits\":2");
        assertThat(records("action = 'FORCED_RELEASE' and permits = 2 and reason = 'alice: stuck'"))
                .isEqualTo(1);
        assertThat(release(allowed, token + "&reason=stuck").principal(ALICE)).hasStatus(404);
        assertThat(stuck.release()).isEqualTo(ReleaseOutcome.LOST);
        assertThat(other.release()).as("the other holder").isEqualTo(ReleaseOutcome.RELEASED);
    }

    private static MockMvcRequestBuilder change(MockMvcTester through, String json) {
        return change(through, SEMAPHORES, json);
    }

    private static MockMvcRequestBuilder change(MockMvcTester through, String path, String json) {
        return through.post().uri(path).contentType(MediaType.APPLICATION_JSON).content(json.replace('\'', '"'));
    }

    @Test
    void aLimitIsChangedOnlyIfAllowedAndBySomebodyKnown() {
        acquire(exports()).close();
        assertThat(change(http, CHANGE).principal(ALICE))
                .hasStatus(403)
                .bodyText()
                .contains("holdfast.endpoint.force-release=enabled");
        assertThat(change(allowed, CHANGE)).hasStatus(403).bodyText().contains("authenticated");
        assertThat(change(allowed, "/actuator/locks/held", CHANGE).principal(ALICE))
                .hasStatus(404);
        assertThat(change(allowed, CHANGE.replace("exports", "imports")).principal(ALICE))
                .hasStatus(404);
        assertThat(limit()).isEqualTo(3);
        assertThat(records("1 = 1")).isZero();

        assertThat(change(allowed, CHANGE.replace("Christmas", " Christmas ")).principal(ALICE))
                .hasStatusOk()
                .bodyText()
                .isEqualTo("{\"formerLimit\":3}");
        assertThat(limit()).isEqualTo(5);
        assertThat(records("action = 'LIMIT_CHANGE' and permits = 5 and reason = 'alice: Christmas'"))
                .isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{'name': 'exports', 'limit': 5}",
                "{'name': 'exports', 'reason': 'Christmas'}",
                "{'limit': 5, 'reason': 'Christmas'}",
                "{'name': 'exports', 'limit': 5, 'reason': ' '}",
                "{'name': 'exports', 'limit': 5, 'reason': 'a\\nb'}",
                "{'name': '', 'limit': 5, 'reason': 'Christmas'}",
                "{'name': 'exports', 'limit': -1, 'reason': 'Christmas'}",
                "{'name': 'exports', 'limit': 'many', 'reason': 'Christmas'}"
            })
    void aChangeThatSaysTooLittleOrNonsenseIsRefused(String json) {
        acquire(exports()).close();
        assertThat(change(allowed, json).principal(ALICE)).hasStatus(400);
        assertThat(limit()).isEqualTo(3);
    }

    @Test
    void eachGrantIsCountedAsOne() {
        MeterRegistry registry = context.getBean(MeterRegistry.class);
        SemaphoreRequest request = SemaphoreRequest.of("export:nightly").limit(3);
        LockHandle two = acquire(request.permits(2));
        LockHandle one = acquire(request);
        assertThat(locks.semaphore(request).tryAcquire()).isEmpty();
        assertThat(active(registry)).isEqualTo(2);
        two.close();
        assertThat(active(registry)).isEqualTo(1);
        one.close();
        assertThat(active(registry)).isZero();
        assertThat(registry.get("holdfast.lock.acquire").tag("group", "export").timers())
                .extracting(timer -> timer.getId().getTag("outcome") + " " + timer.count())
                .containsExactlyInAnyOrder("acquired 2", "refused 1");
        assertThat(registry.get("holdfast.lock.held")
                        .tag("group", "export")
                        .timer()
                        .count())
                .isEqualTo(2);
    }

    private static double active(MeterRegistry registry) {
        return registry.get("holdfast.lock.active")
                .tag("group", "export")
                .gauge()
                .value();
    }
}
