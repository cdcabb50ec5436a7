package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.console.LockConsole.RecentLosses;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.semaphore.SemaphoreRequest;
import io.github.holdfast.service.LockFilter;
import io.github.holdfast.service.LockService;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import io.github.holdfast.test.jdbc.CountingDataSource;
import jakarta.persistence.EntityManagerFactory;
import java.security.Principal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MockMvcTester.MockMvcRequestBuilder;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What the console answers about semaphores, in an application without Spring Security. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class ConsoleSemaphoresTest {

    private static final String STATE = "/holdfast/state";
    private static final Principal ALICE = () -> "alice";
    private static final SemaphoreRequest EXPORTS =
            SemaphoreRequest.of("exports").limit(3);

    private final List<LockHandle> held = new ArrayList<>();
    private Database database;
    private AnnotationConfigWebApplicationContext readOnlyApplication;
    private AnnotationConfigWebApplicationContext allowingApplication;
    private LockService locks;
    private MockMvcTester readOnly;
    private MockMvcTester allowed;

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        LockSchema.on(database.dataSource()).createIfMissing();
        database.execute("delete from lock_holder", "delete from distributed_lock");
        readOnlyApplication = ConsoleOverHttpTest.start(database, Map.of("holdfast.console.enabled", "true"));
        allowingApplication = ConsoleOverHttpTest.start(
                database, Map.of("holdfast.console.enabled", "true", "holdfast.console.force-release", "enabled"));
        locks = readOnlyApplication.getBean(LockService.class);
        readOnly = MockMvcTester.from(readOnlyApplication);
        allowed = MockMvcTester.from(allowingApplication);
    }

    @AfterEach
    void empty() {
        held.forEach(LockHandle::release);
        held.clear();
        database.execute("delete from lock_holder", "delete from distributed_lock", "delete from lock_audit");
    }

    @AfterAll
    void stop() {
        readOnlyApplication.close();
        allowingApplication.close();
    }

    private LockHandle acquire(SemaphoreRequest request) {
        LockHandle permits = locks.semaphore(request).tryAcquire().orElseThrow();
        held.add(permits);
        return permits;
    }

    @Test
    void semaphoresAreToldWithTheirHolders() {
        LockHandle two = acquire(EXPORTS.permits(2));
        LockHandle leased = acquire(EXPORTS.lease(Duration.ofMinutes(1)));
        LockHandle script = acquire(SemaphoreRequest.of("<script>").limit(1));
        acquire(SemaphoreRequest.of("unused").limit(7)).release();
        assertThat(readOnly.get().uri(STATE))
                .bodyText()
                .contains("\"held\":[]")
                .containsSubsequence(
                        "\"semaphores\":{\"entries\":[{\"name\":\"<script>\",\"limit\":1,\"used\":1,\"unlisted\":0,",
                        "\"fencingToken\":\"" + script.fencingToken() + "\"",
                        "{\"name\":\"exports\",\"limit\":3,\"used\":3,\"unlisted\":0,\"holders\":[{\"name\":\"exports\"",
                        "\"isKeptByNode\":true,\"fencingToken\":\"" + two.fencingToken() + "\",\"permits\":2",
                        "\"isKeptByNode\":false,\"fencingToken\":\"" + leased.fencingToken() + "\",\"permits\":1",
                        "{\"name\":\"unused\",\"limit\":7,\"used\":0,\"unlisted\":0,\"holders\":[]}",
                        "\"more\":0}");
    }

    @Test
    void permitsWithoutALivingHolderAreCounted() {
        LockHandle dead = acquire(EXPORTS.permits(2).lease(Duration.ofMinutes(1)));
        LockHandle living = acquire(EXPORTS);
        database.execute(
                "update lock_holder set expires_at = acquired_at where fencing_token = " + dead.fencingToken());
        assertThat(readOnly.get().uri(STATE))
                .bodyText()
                .contains("\"used\":3,\"unlisted\":2", "\"fencingToken\":\"" + living.fencingToken() + "\"")
                .doesNotContain("\"fencingToken\":\"" + dead.fencingToken() + "\"");
    }

    @Test
    void thereAreAsManyStatementsHoweverManySemaphoresThereAre() {
        CountingDataSource counting = new CountingDataSource(database.dataSource());
        try (HikariDataSource pool = database.pool(config -> config.setDataSource(counting));
                EntityManagerFactory unit = new HibernatePersistenceConfiguration("counted")
                        .managedClasses(LockEntity.ENTITIES)
                        .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool)
                        .createEntityManagerFactory();
                LockService counted =
                        LockService.builder(unit).withoutHousekeeping().build()) {
            assertThat(statements(counting, counted, "")).as("nothing").isEqualTo(7);
            for (int number = 100; number <= 200; number++) {
                acquire(SemaphoreRequest.of("semaphore " + number).limit(2));
            }
            assertThat(statements(counting, counted, "")).isEqualTo(8);
            assertThat(statements(counting, counted, "a")).isEqualTo(9);
        }
        assertThat(readOnly.get().uri(STATE))
                .bodyText()
                .contains("{\"name\":\"semaphore 199\",\"limit\":2,\"used\":1,\"unlisted\":0", "\"more\":1}")
                .doesNotContain("semaphore 200");
    }

    private static int statements(CountingDataSource counting, LockService service, String from) {
        int before = counting.statements();
        ConsoleState unused =
                ConsoleState.of(service, RecentLosses.empty(), new HeldSection.Query(from, "", LockFilter.all()));
        return counting.statements() - before;
    }

    private static MockMvcRequestBuilder release(MockMvcTester http, LockHandle permits, String reason) {
        return http.post()
                .uri("/holdfast/release-permits")
                .param("name", permits.name())
                .param("fencingToken", Long.toString(permits.fencingToken()))
                .param("reason", reason);
    }

    private static MockMvcRequestBuilder byThePage(MockMvcRequestBuilder request) {
        return request.header("X-Requested-With", "XMLHttpRequest");
    }

    private static void assertRefused(MockMvcRequestBuilder request, int status, String why) {
        assertThat(request)
                .hasStatus(status)
                .bodyText()
                .startsWith("{\"error\":")
                .contains(why);
    }

    @Test
    void permitsAreTakenAwayOnlyIfAllowedByThePageForSomebodyKnownAndWithAReason() {
        LockHandle stuck = acquire(EXPORTS.permits(2));
        LockHandle other = acquire(EXPORTS);
        UnaryOperator<MockMvcRequestBuilder> alice =
                request -> byThePage(request).principal(ALICE);
        assertRefused(alice.apply(release(readOnly, stuck, "stuck")), 403, "force-release=enabled");
        assertRefused(byThePage(release(allowed, stuck, "stuck")), 403, "authenticated");
        assertRefused(release(allowed, stuck, "stuck").principal(ALICE), 403, "Only the console's page");
        assertRefused(
                alice.apply(release(allowed, stuck, "stuck")).header("Sec-Fetch-Site", "same-site"),
                403,
                "Only the console's page");
        assertRefused(
                alice.apply(release(allowed, stuck, "stuck")).header("Origin", "https://elsewhere.example"),
                403,
                "Only the console's page");
        assertRefused(alice.apply(release(allowed, stuck, " ")), 400, "reason");
        assertRefused(alice.apply(release(allowed, stuck, "a\nb")), 400, "control character");
        assertRefused(
                alice.apply(allowed.post()
                        .uri("/holdfast/release-permits")
                        .param("name", "exports")
                        .param("reason", "stuck")),
                400,
                "is not one");
        assertThat(locks.admin().semaphores().permits("exports")).hasSize(2);

        assertThat(alice.apply(release(allowed, stuck, "stuck")).header("Sec-Fetch-Site", "same-origin"))
                .hasStatusOk()
                .bodyText()
                .startsWith("{\"holder\":\"");
        assertThat(locks.admin().semaphores().permits("exports"))
                .singleElement()
                .satisfies(left -> assertThat(left.fencingToken()).isEqualTo(other.fencingToken()));
        assertThat(database.queryForLong("select count(*) from lock_audit where lock_name = 'exports' and permits = 2"
                        + " and reason = 'alice: stuck' and fencing_token = " + stuck.fencingToken()))
                .isEqualTo(1);
        assertRefused(alice.apply(release(allowed, stuck, "stuck")), 404, "no longer has these permits");
        assertThat(other.release()).isEqualTo(ReleaseOutcome.RELEASED);
    }
}
