package io.github.holdfast.console;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariDataSource;
import io.github.holdfast.entity.LockEntity;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.lock.ReleaseOutcome;
import io.github.holdfast.repository.LockSchema;
import io.github.holdfast.service.LockService;
import io.github.holdfast.service.LockServiceBuilder;
import io.github.holdfast.task.TaskRequest;
import io.github.holdfast.test.Database;
import io.github.holdfast.test.OnDatabase;
import io.github.holdfast.test.TestDatabase;
import jakarta.persistence.EntityManagerFactory;
import java.security.Principal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.jpa.HibernatePersistenceConfiguration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.DispatcherServletAutoConfiguration;
import org.springframework.boot.webmvc.autoconfigure.WebMvcAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.mock.web.MockServletContext;
import org.springframework.test.web.servlet.assertj.MockMvcTester;
import org.springframework.test.web.servlet.assertj.MockMvcTester.MockMvcRequestBuilder;
import org.springframework.web.context.support.AnnotationConfigWebApplicationContext;

/** What the console answers in an application without Spring Security. */
@OnDatabase(TestDatabase.H2_TCP)
@TestInstance(Lifecycle.PER_CLASS)
class ConsoleOverHttpTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    private static final Principal ALICE = () -> "alice";

    private final List<AnnotationConfigWebApplicationContext> applications = new ArrayList<>();
    private Database database;
    private LockService locks;
    private MockMvcTester off;
    private MockMvcTester readOnly;
    private MockMvcTester allowed;

    /** No converter for JSON: the console needs none. */
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        DispatcherServletAutoConfiguration.class,
        WebMvcAutoConfiguration.class,
        LockConsoleAutoConfiguration.class
    })
    static class Application {

        @Bean
        HikariDataSource dataSource(Database database) {
            return database.pool(pool -> pool.setMaximumPoolSize(5));
        }

        @Bean
        EntityManagerFactory entityManagerFactory(HikariDataSource dataSource) {
            return new HibernatePersistenceConfiguration("locks")
                    .managedClasses(LockEntity.ENTITIES)
                    .property(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, dataSource)
                    .createEntityManagerFactory();
        }

        @Bean
        LockService lockService(EntityManagerFactory unit, ObjectProvider<LockListener> listeners) {
            LockServiceBuilder builder =
                    LockService.builder(unit).nodeLease(Duration.ofSeconds(6)).withoutHousekeeping();
            listeners.forEach(builder::listener);
            return builder.build();
        }
    }

    @BeforeAll
    void start(Database onDatabase) {
        database = onDatabase;
        LockSchema.on(database.dataSource()).createIfMissing();
        off = start(Map.of());
        allowed = start(Map.of(
                "holdfast.console.enabled", "true",
                "holdfast.console.path", "/admin/locks",
                "holdfast.console.force-release", "enabled"));
        readOnly = start(Map.of("holdfast.console.enabled", "true"));
        locks = applications.get(2).getBean(LockService.class);
    }

    private MockMvcTester start(Map<String, Object> properties) {
        AnnotationConfigWebApplicationContext started = start(database, properties);
        applications.add(started);
        return MockMvcTester.from(started);
    }

    static AnnotationConfigWebApplicationContext start(Database database, Map<String, Object> properties) {
        AnnotationConfigWebApplicationContext started = new AnnotationConfigWebApplicationContext();
        started.setServletContext(new MockServletContext());
        started.getEnvironment().getPropertySources().addFirst(new MapPropertySource("test", properties));
        started.addBeanFactoryPostProcessor(beans -> beans.registerSingleton("database", database));
        started.register(Application.class);
        started.refresh();
        return started;
    }

    @AfterAll
    void stop() {
        applications.forEach(AnnotationConfigWebApplicationContext::close);
    }

    @Test
    void isOffUnlessSwitchedOn() {
        for (String path : List.of("", "/state", "/console.js")) {
            assertThat(off.get().uri("/holdfast" + path)).hasStatus(404);
            assertThat(readOnly.get().uri("/holdfast" + path)).hasStatusOk();
            assertThat(allowed.get().uri("/holdfast" + path)).hasStatus(404);
            assertThat(allowed.get().uri("/admin/locks" + path)).hasStatusOk();
        }
        assertThat(off.post().uri("/holdfast/release")).hasStatus(404);
        assertThat(off.post().uri("/holdfast/release-permits")).hasStatus(404);
    }

    @Test
    void pageLoadsNothingButItsOwnFiles() {
        assertThat(allowed.get().uri("/admin/locks"))
                .hasContentType("text/html;charset=UTF-8")
                .bodyText()
                .contains("href=\"locks/console.css\"", "src=\"locks/console.js\"", "src=\"locks/console.svg\"")
                .doesNotContain("{console}", "<style", "style=", "onclick", "://");
        for (String file : List.of("", "/console.css", "/console.js", "/console.svg", "/state")) {
            assertThat(readOnly.get().uri("/holdfast" + file))
                    .hasHeader("Cache-Control", "no-store")
                    .hasHeader("X-Content-Type-Options", "nosniff")
                    .hasHeader("X-Frame-Options", "DENY")
                    .hasHeader(
                            "Content-Security-Policy",
                            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
                                    + " base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
        }
        assertThat(readOnly.get().uri("/holdfast/LockConsole.class")).hasStatus(404);
    }

    @Test
    void heldLocksAreToldFromANameOn() throws Exception {
        try (LockHandle script = locks.acquire(LockRequest.of("<script>alert('1')</script>"));
                LockHandle leased = locks.acquire(LockRequest.of("order:1/2").lease(Duration.ofMinutes(1)))) {
            assertThat(readOnly.get().uri("/holdfast/state"))
                    .hasContentType("application/json")
                    .bodyText()
                    .contains("\"held\":[{\"name\":\"<script>alert('1')<")
                    .contains("\"isKeptByNode\":true,\"fencingToken\":\"" + script.fencingToken() + "\"")
                    .contains("\"isKeptByNode\":false,\"fencingToken\":\"" + leased.fencingToken() + "\"")
                    .contains("\"nextHeld\":null", "\"isAlive\":true");
            assertThat(readOnly.get().uri("/holdfast/state?from=order:1/2"))
                    .bodyText()
                    .contains("\"held\":[{\"name\":\"order:1");
            assertThat(readOnly.get().uri("/holdfast/state?from=z")).bodyText().contains("\"held\":[]");
        }
        assertThat(readOnly.get().uri("/holdfast/state?from={from}", "a\nb"))
                .hasStatus(400)
                .bodyText()
                .contains("control character");
    }

    @Test
    void aLongListIsToldInPages() throws Exception {
        List<LockHandle> held = new ArrayList<>();
        for (int number = 100; number <= 200; number++) {
            held.add(locks.acquire(LockRequest.of("page:" + number)));
        }
        assertThat(readOnly.get().uri("/holdfast/state?from=page:100"))
                .bodyText()
                .contains("\"nextHeld\":\"page:200\"", "\"name\":\"page:199\"")
                .doesNotContain("\"name\":\"page:200\"");
        assertThat(readOnly.get().uri("/holdfast/state?from=page:200"))
                .bodyText()
                .contains("\"nextHeld\":null", "\"held\":[{\"name\":\"page:200\"");
        held.forEach(LockHandle::release);
    }

    @Test
    void whoWaitsWhatRanAndWhatWasLostIsTold() throws Exception {
        assertThatThrownBy(() -> locks.task(TaskRequest.of("nightly").every(Duration.ofDays(1)))
                        .runIfDue(lock -> {
                            throw new IllegalStateException("no \"paper\"");
                        }))
                .isInstanceOf(IllegalStateException.class);
        LockHandle lost = locks.acquire(LockRequest.of("lost:1"));
        Thread waiting = new Thread(() -> waitFor("lost:1"), "wants it");
        waiting.start();
        await().atMost(SOON).until(() -> locks.admin().waiters().size() == 1);
        assertThat(readOnly.get().uri("/holdfast/state"))
                .bodyText()
                .contains("\"waiters\":{\"entries\":[{\"name\":\"lost:1\"", "/wants it\",\"waited\":")
                .contains("\"name\":\"nightly\"", "\"status\":\"FAILED\"", "no \\\"paper\\\"");
        locks.admin().forceRelease("lost:1", "a test");
        await().atMost(SOON)
                .untilAsserted(() -> assertThat(readOnly.get().uri("/holdfast/state"))
                        .bodyText()
                        .contains("\"losses\":{\"entries\":[{\"name\":\"lost:1\"", "\"cause\":\"FORCED\""));
        waiting.interrupt();
        waiting.join();
        lost.release();
    }

    /** Until the thread is interrupted, or gets the lock: on a busy machine, the delay of the forced release may be over before. */
    private void waitFor(String name) {
        try {
            ReleaseOutcome unused = locks.acquire(LockRequest.of(name)).release();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void lockIsTakenAwayOnlyIfAllowedByThePageForSomebodyKnownAndWithAReason() throws Exception {
        LockHandle lock = locks.acquire(LockRequest.of("order:3"));
        long token = lock.fencingToken();

        assertRefused(release(readOnly, "/holdfast", token, "stuck").principal(ALICE), 403, "force-release=enabled");
        assertRefused(release(allowed, "/admin/locks", token, "stuck"), 403, "authenticated");
        assertRefused(
                allowed.post()
                        .uri("/admin/locks/release")
                        .param("name", "order:3")
                        .param("fencingToken", "" + token)
                        .param("reason", "stuck")
                        .principal(ALICE),
                403,
                "page can release locks by force");
        assertRefused(
                release(allowed, "/admin/locks", token, "stuck")
                        .header("Sec-Fetch-Site", "same-site")
                        .principal(ALICE),
                403,
                "page can release locks by force");
        assertRefused(
                release(allowed, "/admin/locks", token, "stuck")
                        .header("Origin", "https://elsewhere.example")
                        .principal(ALICE),
                403,
                "page can release locks by force");
        assertRefused(release(allowed, "/admin/locks", token, " ").principal(ALICE), 400, "reason");
        assertRefused(release(allowed, "/admin/locks", token, "a\nb").principal(ALICE), 400, "control character");
        assertRefused(release(allowed, "/admin/locks", token - 1, "stuck").principal(ALICE), 409, "reload the page");
        assertRefused(
                allowed.post()
                        .uri("/admin/locks/release")
                        .header("X-Requested-With", "XMLHttpRequest")
                        .param("name", "order:3")
                        .param("reason", "stuck")
                        .principal(ALICE),
                400,
                "is not one");
        assertThat(locks.find("order:3")).isPresent();

        assertThat(release(allowed, "/admin/locks", token, "stuck")
                        .header("Sec-Fetch-Site", "same-origin")
                        .principal(ALICE))
                .hasStatusOk();
        assertThat(locks.find("order:3")).isEmpty();
        assertThat(database.queryForLong("select count(*) from lock_audit where lock_name = 'order:3'"
                        + " and reason = 'alice: stuck' and fencing_token = " + token))
                .isEqualTo(1);
        assertRefused(
                release(allowed, "/admin/locks", token, "stuck").principal(ALICE), 404, "No owner holds the lock");
        lock.release();
    }

    private static MockMvcRequestBuilder release(MockMvcTester http, String path, long fencingToken, String reason) {
        return http.post()
                .uri(path + "/release")
                .header("X-Requested-With", "XMLHttpRequest")
                .param("name", "order:3")
                .param("fencingToken", Long.toString(fencingToken))
                .param("reason", reason);
    }

    private static void assertRefused(MockMvcRequestBuilder request, int status, String why) {
        assertThat(request)
                .hasStatus(status)
                .bodyText()
                .startsWith("{\"error\":")
                .contains(why);
    }

    @Test
    void thePageIsToldWhyItMayNotTakeLocksAway() {
        assertThat(readOnly.get().uri("/holdfast/state").principal(ALICE))
                .bodyText()
                .contains("\"user\":\"alice\"", "\"readOnlyBecause\":\"Forced release is disabled");
        assertThat(allowed.get().uri("/admin/locks/state"))
                .bodyText()
                .contains("\"user\":null", "\"readOnlyBecause\":\"Forced release requires an authenticated user");
        assertThat(allowed.get().uri("/admin/locks/state").principal(ALICE))
                .bodyText()
                .contains("\"readOnlyBecause\":null", "\"token\":null");
    }

    @Test
    void aDatabaseThatFailsIsTold() {
        database.execute("alter table distributed_lock rename to elsewhere");
        try {
            assertThat(readOnly.get().uri("/holdfast/state"))
                    .hasStatus(503)
                    .bodyText()
                    .contains("\"error\":\"The held locks could not be read");
        } finally {
            database.execute("alter table elsewhere rename to distributed_lock");
        }
    }
}
