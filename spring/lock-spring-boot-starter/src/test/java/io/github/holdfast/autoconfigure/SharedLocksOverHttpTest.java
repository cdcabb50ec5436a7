package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import java.security.Principal;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MockMvcTester.MockMvcRequestBuilder;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What an application with Actuator answers about shared locks, and what it takes away. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class SharedLocksOverHttpTest {

    private static final String HELD = "/actuator/locks/held";
    private static final String HOLDERS = "/actuator/locks/holders";
    private static final Principal ALICE = () -> "alice";
    private static final LockRequest PRICES =
            LockRequest.of("prices").shared().notReentrant().lease(Duration.ofMinutes(1));

    private Database database;
    private AnnotationConfigWebApplicationContext context;
    private LockService locks;
    private MockMvcTester http;

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        LockSchema.on(database.dataSource()).createIfMissing();
        context = EndpointApplication.start(database, Map.of("holdfast.endpoint.force-release", "enabled"));
        locks = context.getBean(LockService.class);
        http = MockMvcTester.from(context);
    }

    @AfterEach
    void empty() {
        database.execute("delete from lock_holder", "delete from distributed_lock", "delete from lock_audit");
    }

    @AfterAll
    void stop() {
        context.close();
    }

    private LockHandle acquire(LockRequest request) {
        return locks.tryAcquire(request).orElseThrow();
    }

    private static String token(LockHandle lock) {
        return "\"fencingToken\":" + lock.fencingToken();
    }

    @Test
    void eachHolderIsToldAndAPageEndsAfterTheLastOne() {
        try (LockHandle alone = acquire(LockRequest.of("alone"));
                LockHandle one = acquire(PRICES);
                LockHandle other = acquire(PRICES);
                LockHandle last = acquire(LockRequest.of("stock"))) {
            assertThat(http.get().uri(HELD))
                    .hasStatusOk()
                    .bodyText()
                    .containsSubsequence(
                            "\"name\":\"alone\",\"mode\":\"EXCLUSIVE\"",
                            token(alone),
                            "\"name\":\"prices\",\"mode\":\"SHARED\",\"owner\":\"" + one.owner(),
                            token(one),
                            "\"name\":\"prices\",\"mode\":\"SHARED\",\"owner\":\"" + other.owner(),
                            token(other),
                            token(last))
                    .endsWith("\"next\":null}");
            assertThat(http.get().uri(HELD + "?limit=1&after=alone"))
                    .bodyText()
                    .contains(token(one), token(other))
                    .doesNotContain(token(last))
                    .endsWith("\"next\":\"prices\"}");
            assertThat(http.get().uri(HELD + "?limit=2&after=prices"))
                    .bodyText()
                    .contains(token(last))
                    .endsWith("\"next\":null}");
            assertThat(http.get().uri(HELD + "?name=prices"))
                    .hasStatusOk()
                    .bodyText()
                    .contains(token(one), "\"mode\":\"SHARED\"");
        }
    }

    @Test
    void holdersOfOneLockAreToldByItsName() {
        assertThat(http.get().uri(HOLDERS + "?name=prices")).hasStatus(404);
        try (LockHandle one = acquire(PRICES);
                LockHandle other = acquire(PRICES);
                LockHandle alone = acquire(LockRequest.of("alone"))) {
            assertThat(http.get().uri(HOLDERS + "?name=prices"))
                    .hasStatusOk()
                    .bodyText()
                    .startsWith("[{\"name\":\"prices\"")
                    .containsSubsequence(token(one), token(other));
            assertThat(http.get().uri(HOLDERS + "?name=alone"))
                    .hasStatusOk()
                    .bodyText()
                    .contains(token(alone), "\"mode\":\"EXCLUSIVE\"");
        }
        assertThat(http.get().uri(HOLDERS + "?name=prices")).hasStatus(404);
        assertThat(http.get().uri(HOLDERS)).hasStatus(400);
        assertThat(http.get().uri(HOLDERS + "?name={name}", "a\nb")).hasStatus(400);
    }

    private MockMvcRequestBuilder release(String parameters) {
        return http.delete()
                .uri(HELD + "?name=prices&reason=stuck" + parameters)
                .principal(ALICE);
    }

    @Test
    void oneShareIsTakenAwayOrAllOfThem() {
        LockHandle stuck = acquire(PRICES);
        LockHandle second = acquire(PRICES);
        LockHandle third = acquire(PRICES);
        assertThat(release("&fencingToken=" + stuck.fencingToken()))
                .hasStatusOk()
                .bodyText()
                .contains(token(stuck), "\"mode\":\"SHARED\"");
        assertThat(locks.admin().holders("prices"))
                .extracting(LockInfo::fencingToken)
                .containsExactly(second.fencingToken(), third.fencingToken());
        assertThat(release("&fencingToken=" + stuck.fencingToken()))
                .as("while others share it")
                .hasStatus(409);
        assertThat(release("")).hasStatusOk().bodyText().contains(token(second));
        assertThat(locks.admin().holders("prices")).isEmpty();
        assertThat(release("")).hasStatus(404);
        assertThat(release("&fencingToken=" + stuck.fencingToken())).hasStatus(404);
        assertThat(database.queryForLong("select count(*) from lock_audit where lock_name = 'prices' and permits = 1"
                        + " and action = 'FORCED_RELEASE' and reason = 'alice: stuck'"))
                .isEqualTo(3);
        for (LockHandle lost : new LockHandle[] {stuck, second, third}) {
            assertThat(lost.release()).isEqualTo(ReleaseOutcome.LOST);
        }
    }
}
