package io.github.holdfast.console;

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
import java.util.ArrayList;
import java.util.List;
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

/** What the console answers about shared locks, in an application without Spring Security. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class ConsoleSharedLocksTest {

    private static final String STATE = "/holdfast/state";
    private static final Principal ALICE = () -> "alice";
    private static final Duration LEASE = Duration.ofMinutes(1);

    private final List<LockHandle> held = new ArrayList<>();
    private Database database;
    private AnnotationConfigWebApplicationContext application;
    private LockService locks;
    private MockMvcTester http;

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute("delete from lock_holder", "delete from distributed_lock");
        application = ConsoleOverHttpTest.start(
                database, Map.of("holdfast.console.enabled", "true", "holdfast.console.force-release", "enabled"));
        locks = application.getBean(LockService.class);
        http = MockMvcTester.from(application);
    }

    @AfterEach
    void empty() {
        held.forEach(LockHandle::release);
        held.clear();
        database.execute("delete from lock_holder", "delete from distributed_lock", "delete from lock_audit");
    }

    @AfterAll
    void stop() {
        application.close();
    }

    private LockHandle acquire(LockRequest request) {
        LockHandle lock = locks.tryAcquire(request.lease(LEASE)).orElseThrow();
        held.add(lock);
        return lock;
    }

    private LockHandle share(String name) {
        return acquire(LockRequest.of(name).shared().notReentrant());
    }

    private static String token(LockHandle lock) {
        return "\"fencingToken\":\"" + lock.fencingToken() + "\"";
    }

    @Test
    void aSharedLockIsToldOnceWithAllItsHolders() {
        LockHandle alone = acquire(LockRequest.of("a"));
        LockHandle one = share("b");
        LockHandle other = share("b");
        LockHandle last = acquire(LockRequest.of("c"));
        assertThat(http.get().uri(STATE))
                .bodyText()
                .containsSubsequence(
                        "\"held\":[{\"name\":\"a\",\"mode\":\"EXCLUSIVE\",\"holders\":[{\"name\":\"a\"",
                        token(alone),
                        "{\"name\":\"b\",\"mode\":\"SHARED\",\"holders\":[{\"name\":\"b\"",
                        token(one),
                        "{\"name\":\"b\",\"mode\":\"SHARED\",\"owner\"",
                        token(other),
                        "{\"name\":\"c\",\"mode\":\"EXCLUSIVE\"",
                        token(last));
        assertThat(http.get().uri(STATE + "?from=b"))
                .bodyText()
                .contains("\"held\":[{\"name\":\"b\",\"mode\":\"SHARED\"", token(one), token(other), token(last))
                .doesNotContain(token(alone));
    }

    @Test
    void manySharesFillAPageButHideNoLock() {
        for (int number = 0; number <= ConsoleState.PAGE_SIZE; number++) {
            share("popular");
        }
        assertThat(http.get().uri(STATE)).bodyText().contains("\"nextHeld\":null");
        List<LockHandle> later = new ArrayList<>();
        for (int number = 0; number < ConsoleState.PAGE_SIZE; number++) {
            later.add(acquire(LockRequest.of("popular, later %03d".formatted(number))));
        }
        assertThat(http.get().uri(STATE))
                .bodyText()
                .contains("\"nextHeld\":\"popular, later 099\"", token(later.get(98)))
                .doesNotContain(token(later.get(99)));
    }

    private MockMvcRequestBuilder release(String tokens) {
        return http.post()
                .uri("/holdfast/release")
                .header("X-Requested-With", "XMLHttpRequest")
                .principal(ALICE)
                .param("name", "b")
                .param("fencingToken", tokens)
                .param("reason", "stuck");
    }

    @Test
    void oneShareIsTakenAwayOrAllThatThePageShows() {
        LockHandle one = share("b");
        LockHandle two = share("b");
        LockHandle three = share("b");
        LockHandle unseen = share("b");
        assertThat(release("" + one.fencingToken())).hasStatusOk();
        assertThat(release("" + one.fencingToken())).hasStatus(409);
        assertThat(release("%d,%d,%d".formatted(one.fencingToken(), two.fencingToken(), three.fencingToken())))
                .hasStatusOk()
                .bodyText()
                .startsWith("{\"holder\":\"");
        assertThat(locks.admin().holders("b"))
                .extracting(LockInfo::fencingToken)
                .containsExactly(unseen.fencingToken());
        for (String wrong : List.of("", ",", "1,", "1;2")) {
            assertThat(release(wrong)).hasStatus(400).bodyText().contains("is not one");
        }
        assertThat(unseen.release()).isEqualTo(ReleaseOutcome.RELEASED);
        assertThat(release("" + one.fencingToken())).hasStatus(404);
        assertThat(database.queryForLong(
                        "select count(*) from lock_audit where lock_name = 'b' and reason = 'alice: stuck'"))
                .isEqualTo(3);
    }
}
